import { readEnvironment } from "../environment.ts";
import { setUpSDKs } from "./toolchains.ts";

// The entry behind `npm run setup:sdks`: the SDKs' clients stand in the cache afterwards, whether they did before or not, and those
// that this machine lacks a toolchain for are named. By their names some are set up alone: `npm run setup:sdks -- go botocore moto`.
try {
  await setUpSDKs(readEnvironment(), process.argv.slice(2), (place) => void process.stdout.write(`${place}\n`));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
