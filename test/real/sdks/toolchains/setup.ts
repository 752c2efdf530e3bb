import { readEnvironment } from "../../environment.ts";
import { setUpSDKs } from "./toolchains.ts";

// The script of `npm run setup:sdks`: builds all SDK clients in the cache, or only the named ones, such as
// `npm run setup:sdks -- go botocore moto`.
const names = process.argv.slice(2);
const paths = await (names.length > 0 ? setUpSDKs(readEnvironment(), names) : setUpSDKs(readEnvironment()));
process.stdout.write(`${paths.join("\n")}\n`);
