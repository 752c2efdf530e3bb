import { setUpAssets } from "../real/apiserver/assets.ts";
import { readEnvironment } from "../real/environment.ts";
import { setUpRenderers } from "../real/ci/tools.ts";
import { setUpSDKs } from "../real/sdks/toolchains/toolchains.ts";
import { setUpPackages } from "./packages.ts";
import { setUpNodePrograms } from "./programs.ts";

// `npm run setup:cluster`: installs the packages, and builds the programs into the cache if they are missing: the node,
// the STS emulator moto, the controller in Go, and helm.
const environment = readEnvironment();
await setUpPackages();
const assets = await setUpAssets(environment);
const programs = await setUpNodePrograms(environment);
const clients = await setUpSDKs(environment, ["go", "moto"]);
const renderers = await setUpRenderers(environment);
const paths: readonly string[] = [...Object.values({ ...assets, ...programs }), ...clients, renderers];
process.stdout.write(`${paths.join("\n")}\n`);
