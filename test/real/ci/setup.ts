import { readEnvironment } from "../environment.ts";
import { setUpCI } from "./tools.ts";

// `npm run setup:ci`: adds the programs of the tests in this folder to the cache if they are missing.
process.stdout.write(`${(await setUpCI(readEnvironment())).join("\n")}\n`);
