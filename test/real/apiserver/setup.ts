import { readEnvironment } from "../environment.ts";
import { setUpAssets } from "./assets.ts";

// `npm run setup:apiserver`: builds the programs into the cache if they are missing.
const assets = await setUpAssets(readEnvironment());
process.stdout.write(`${Object.values(assets).join("\n")}\n`);
