import type { Plugin } from "esbuild";
import { pageAssets } from "./page-assets.ts";

/** Bundles the script and the style of the page of `map` into a string each. */
export const bundledPage: Plugin = {
  name: "bundled-page",
  setup(pluginBuild) {
    pluginBuild.onLoad({ filter: /\/build\/role-map\/page-assets\.ts$/ }, async () => ({
      contents: `const assets = ${JSON.stringify(await pageAssets())};\nexport const pageAssets = async () => assets;`,
      loader: "js",
    }));
  },
};
