import { readEnvironment } from "../environment.ts";
import { setUpAssets } from "./assets.ts";

// The entry behind `npm run setup:apiserver`: the programs stand in the cache afterwards, whether they did before or not.
const assets = await setUpAssets(readEnvironment());
process.stdout.write(`${Object.values(assets).join("\n")}\n`);
