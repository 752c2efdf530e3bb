import { readEnvironment } from "../environment.ts";
import { setUpOracle } from "./binary.ts";

// The entry behind `npm run setup:oracle`: the program stands in the cache afterwards, whether it did before or not.
process.stdout.write(`${await setUpOracle(readEnvironment())}\n`);
