// With CI=true, builds the programs that the tests in test/real need. Without CI=true, these tests are skipped, and
// print which `npm run setup:...` command to run.
import { setUpAssets } from "./apiserver/assets.ts";
import { setUpCI } from "./ci/tools.ts";
import { readEnvironment } from "./environment.ts";
import { setUpPrometheus } from "./observability/debian-package.ts";
import { setUpOracle } from "./oracle/binary.ts";
import { setUpSDKs } from "./sdks/toolchains/toolchains.ts";

const environment = readEnvironment();
if (environment.ci) {
  await setUpAssets(environment);
  await setUpOracle(environment);
  await setUpSDKs(environment);
  await setUpCI(environment);
  await setUpPrometheus(environment);
}
