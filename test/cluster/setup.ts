import { setUpAssets } from "../real/apiserver/assets.ts";
import { readEnvironment } from "../real/environment.ts";
import { setUpPackages } from "./packages.ts";
import { setUpNodePrograms } from "./programs.ts";

// `npm run setup:cluster`: installs the packages, and builds the programs into the cache if they are missing.
const environment = readEnvironment();
await setUpPackages();
const assets = await setUpAssets(environment);
const programs = await setUpNodePrograms(environment);
const paths: readonly string[] = Object.values({ ...assets, ...programs });
process.stdout.write(`${paths.join("\n")}\n`);
