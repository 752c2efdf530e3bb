import { readEnvironment } from "../environment.ts";
import { setUpOracle } from "./binary.ts";

// `npm run setup:oracle`: builds the oracle into the cache if it is missing.
process.stdout.write(`${await setUpOracle(readEnvironment())}\n`);
