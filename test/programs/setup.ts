// The script of `npm run setup:...`. Builds the named programs, and all programs of the named groups, in the cache if
// they are missing. Prints their folders. `packages` installs the Debian packages of a node, `browser` Chromium,
// `shells` those in which completion is tested, and `release` those with which a release is built and tested.
// With `--if-ci`, does nothing unless `CI=true`.
import { ACK_RUNTIME } from "./ack-runtime.ts";
import { ARGO_CD } from "./argo-cd.ts";
import { type Recipe, setUpProgram } from "./cache.ts";
import { CAPA } from "./capa.ts";
import { CERT_MANAGER } from "./cert-manager.ts";
import { readEnvironment } from "./environment.ts";
import { GO_CLIENT } from "./go-client.ts";
import { JAVA_CLIENT } from "./java-client.ts";
import { KREW } from "./krew.ts";
import { KUBERNETES, KUBERNETES_NODE } from "./kubernetes.ts";
import { NODE_IMAGE_ARCHIVE } from "./node-image.ts";
import { SUPPORTED_NODES, UNSUPPORTED_NODES } from "./node-versions.ts";
import { PACKAGE_GROUPS, setUpGroup, setUpPackages } from "./packages.ts";
import { PAUSE } from "./pause.ts";
import { PROMETHEUS } from "./prometheus.ts";
import { RELEASE_NODES, RELEASE_TOOLS } from "./release-tools.ts";
import { RENDERERS } from "./renderers.ts";
import { RUST_CLIENT } from "./rust-client.ts";
import { BOTOCORE, MOTO } from "./wheels.ts";

const RECIPES: readonly Recipe[] = [
  KUBERNETES, KUBERNETES_NODE, PAUSE, NODE_IMAGE_ARCHIVE, ACK_RUNTIME, BOTOCORE, MOTO, GO_CLIENT, JAVA_CLIENT,
  RUST_CLIENT, ...UNSUPPORTED_NODES, ...SUPPORTED_NODES, RENDERERS, ARGO_CD, KREW, CERT_MANAGER, CAPA,
  PROMETHEUS, RELEASE_TOOLS, RELEASE_NODES,
];

const environment = readEnvironment();
const names = process.argv.slice(2);
if (!names.includes("--if-ci") || environment.ci) {
  for (const name of names.filter((one) => one !== "--if-ci")) {
    if (name === "packages") await setUpPackages();
    else if (PACKAGE_GROUPS.includes(name)) await setUpGroup(name);
    else await setUpAll(name);
  }
}

/** Builds in sequence, because each build uses all cores. A failed build does not prevent the others. */
async function setUpAll(name: string): Promise<void> {
  const recipes = RECIPES.filter((recipe) => recipe.name === name || recipe.group === name);
  if (recipes.length === 0) throw new Error(`"${name}" is unknown; use ${RECIPES.map((one) => one.name).join(", ")}`);
  for (const recipe of recipes) {
    try {
      process.stdout.write(`${await setUpProgram(environment, recipe)}\n`);
    } catch (error) {
      process.stderr.write(`${recipe.name}: ${error instanceof Error ? error.message : String(error)}\n`);
      process.exitCode = 1;
    }
  }
}
