import { test } from "tap";
import { injectionSettings } from "../../../../shared/decisions/pods/settings.ts";
import { readSettings } from "../../../../shared/server/settings.ts";

function argsOf(flags: Parameters<typeof readSettings>[1]): readonly string[] {
  return injectionSettings(readSettings("webhook", { cluster: true, tlsDir: "unused", ...flags }, {})).args;
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

test("commands without an injection inject no sidecar", async (t) => {
  const settings = readSettings("lint", { from: ["m"], extraGroups: ["new.services.k8s.aws"] }, {});
  t.same(injectionSettings(settings), { image: null, args: [], extraGroups: ["new.services.k8s.aws"] });
  t.same(injectionSettings(readSettings("sidecar", { cluster: true, group: ["a.b"], token: "0123456789abcdef" }, {})), {
    image: null, args: [], extraGroups: [],
  });
});
