import { readEnvironment } from "../environment.ts";
import { setUpSDKs } from "./toolchains.ts";

// The entry behind `npm run setup:sdks`: the SDKs' clients stand in the cache afterwards, whether they did before or not. Those that
// this machine has a toolchain for are set up alone by their names: `npm run setup:sdks -- go botocore moto`.
const names = process.argv.slice(2);
process.stdout.write(`${(await (names.length > 0 ? setUpSDKs(readEnvironment(), names) : setUpSDKs(readEnvironment()))).join("\n")}\n`);
