import { setUpAssets } from "../real/apiserver/assets.ts";
import { readEnvironment } from "../real/environment.ts";
import { setUpSDKs } from "../real/sdks/toolchains/toolchains.ts";
import { setUpPackages } from "./packages.ts";
import { setUpNodePrograms } from "./programs.ts";

// `npm run setup:cluster`: installs the packages, and builds the programs into the cache if they are missing: the node,
// the STS emulator moto, and the controller in Go.
const environment = readEnvironment();
await setUpPackages();
const assets = await setUpAssets(environment);
const programs = await setUpNodePrograms(environment);
const clients = await setUpSDKs(environment, ["go", "moto"]);
const paths: readonly string[] = [...Object.values({ ...assets, ...programs }), ...clients];
process.stdout.write(`${paths.join("\n")}\n`);
