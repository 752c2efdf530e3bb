import { test } from "tap";
import { NOTHING_CLOSED } from "../../../shared/core/closures.ts";
import { injectionSettings } from "../../../shared/core/sidecar-settings.ts";
import { readSettings } from "../../../shared/server/read-settings.ts";

const WEBHOOK = { cluster: true, tlsDir: "unused" };

function argsOf(flags: Parameters<typeof readSettings>[1]): readonly string[] {
  return injectionSettings(readSettings("webhook", { ...WEBHOOK, ...flags }, {})).args;
}

test("sidecars get the flags of the webhook that decide on roles, unless they have their defaults", async (t) => {
  t.same(argsOf({}), []);
  const allowedAccounts = ["111122223333", "444455556666"];
  t.same(argsOf({ mode: "carm", teamLevelCarm: true, runtime: "extended", allowedAccounts }), [
    "--mode=carm", "--team-level-carm", "--runtime=extended", "--allowed-accounts=111122223333",
    "--allowed-accounts=444455556666",
  ]);
  t.same(argsOf({ logLevel: "debug", check: ["IRS-17=warn"] }), [], "not the other flags");
});

test("--sidecar-args overrides the flags of the webhook", async (t) => {
  t.same(argsOf({ mode: "carm", runtime: "extended", sidecarArgs: ["--mode=selectors", "--base=identity-only"] }), [
    "--runtime=extended", "--mode=selectors", "--base=identity-only",
  ]);
});

test("sidecars get the variables of --sidecar-env and the CA of --sidecar-ca-config-map", async (t) => {
  const flags = { sidecarImage: "a:1", sidecarEnv: ["NO_PROXY=a=b,.c", "X=1"], sidecarCaConfigMap: "ca" };
  t.match(injectionSettings(readSettings("webhook", { ...WEBHOOK, ...flags }, {})), {
    env: [{ name: "NO_PROXY", value: "a=b,.c" }, { name: "X", value: "1" }], caConfigMap: "ca",
  });
});

test("--sidecar-env rejects variables that redirect calls, load code or are flags", async (t) => {
  const read = (item: string): void => {
    readSettings("webhook", { ...WEBHOOK, sidecarImage: "a:1", sidecarEnv: [item] }, {});
  };
  for (const item of ["HTTPS_PROXY=http://proxy:3128", "no_proxy=.svc", "NODE_USE_ENV_PROXY=1", "TZ=UTC"]) read(item);
  for (const item of [
    "AWS_ENDPOINT_URL_STS=https://a", "AWS_ACCESS_KEY_ID=a", "NODE_OPTIONS=--import=x", "NODE_EXTRA_CA_CERTS=/a",
    "NODE_TLS_REJECT_UNAUTHORIZED=0", "NODE_USE_ENV_PROXY_X=1", "KUBERNETES_SERVICE_HOST=a", "LD_PRELOAD=/a",
    "ACK_ROLE_RESOLVER_MODE=carm", "OPENSSL_CONF=/a", "SSL_CERT_FILE=/a", "A", "=a", "A=", "A B=c", "1A=b", "A=\n",
  ]) t.throws(() => read(item), { message: /^--sidecar-env ".*": expected NAME=VALUE/ }, item);
  t.throws(() => readSettings("webhook", { ...WEBHOOK, sidecarEnv: ["A=b"], sidecarCaConfigMap: "ca" }, {}), {
    message: "--sidecar-env: requires --sidecar-image\n--sidecar-ca-config-map: requires --sidecar-image",
  });
});

test("--sidecar-run-as-user sets the user of sidecars, or leaves it to the cluster", async (t) => {
  const userOf = (sidecarRunAsUser?: string): number | null => {
    const own = sidecarRunAsUser === undefined ? {} : { sidecarRunAsUser };
    return injectionSettings(readSettings("webhook", { ...WEBHOOK, sidecarImage: "a:1", ...own }, {})).runAsUser;
  };
  t.same([userOf(), userOf("1000680000"), userOf("none")], [65_532, 1_000_680_000, null]);
  for (const invalid of ["0", "root", "-1", "2147483648", "1e3", ""]) {
    t.throws(() => userOf(invalid), {
      message: "--sidecar-run-as-user: expected none, or a user ID from 1 to 1999999999",
    }, invalid);
  }
  t.throws(() => readSettings("webhook", { ...WEBHOOK, sidecarRunAsUser: "none" }, {}), {
    message: "--sidecar-run-as-user: requires --sidecar-image",
  });
  readSettings("webhook", { ...WEBHOOK, sidecarRunAsUser: "65532" }, {});
});

test("sidecars answer probes by IPv6 if the webhook does", async (t) => {
  const isDualStack = (healthListen: string): boolean => (
    injectionSettings(readSettings("webhook", { ...WEBHOOK, healthListen }, {})).isDualStack
  );
  t.same(["[::]:19444", "[::1]:9444", "0.0.0.0:9444"].map(isDualStack), [true, false, false]);
});

const NONE = {
  image: null, args: [], env: [], caConfigMap: null, runAsUser: 65_532, isDualStack: false, extraGroups: [],
  closures: NOTHING_CLOSED,
};

test("commands without an injection inject no sidecar", async (t) => {
  const settings = readSettings("lint", { from: ["m"], extraGroups: ["new.services.k8s.aws"] }, {});
  t.same(injectionSettings(settings), { ...NONE, extraGroups: ["new.services.k8s.aws"] });
  const sidecar = { cluster: true, group: ["a.b"], tokenFile: "token" };
  t.same(injectionSettings(readSettings("sidecar", sidecar, {})), NONE);
});
