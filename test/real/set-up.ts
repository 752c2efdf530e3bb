// Builds what the tests under test/real need, one after the other, where it may be built unasked: with CI=true. Elsewhere each
// of them says what it skips and which `npm run setup:...` sets it up.
import { setUpAssets } from "./apiserver/assets.ts";
import { readEnvironment } from "./environment.ts";
import { setUpOracle } from "./oracle/binary.ts";
import { setUpSDKs } from "./sdks/toolchains.ts";

const environment = readEnvironment();
if (environment.ci) {
  await setUpAssets(environment);
  await setUpOracle(environment);
  await setUpSDKs(environment);
}
