import { readEnvironment } from "../environment.ts";
import { setUpPrometheus } from "./debian-package.ts";

// `npm run setup:prometheus`: adds the programs of the tests in this folder to the cache if they are missing.
process.stdout.write(`${await setUpPrometheus(readEnvironment())}\n`);
