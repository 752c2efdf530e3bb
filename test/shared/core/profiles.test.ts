import { CATALOGUE, withOtherChecks } from "../../../shared/judges.ts";
import { test } from "tap";
import { severityOf } from "../../../shared/core/plan.ts";
import { checkSeveritiesOf } from "../../../shared/core/context.ts";
import { ALWAYS_DENYING, type Profile, PROFILE_NAMES, PROFILES } from "../../../shared/core/profiles.ts";
import { readSettings } from "../../../shared/server/read-settings.ts";

const SIDECAR = { cluster: true, group: ["s3.services.k8s.aws"], tokenFile: "token" };

/** Returns the checks whose severity in the profile is not their own, as `ID=severity`. */
function changed(profile: Profile, check: readonly string[] = []): string[] {
  const settings = { mode: "carm", checkSeverities: checkSeveritiesOf(check, profile) } as const;
  return CATALOGUE.flatMap((one) => (
    severityOf(one, settings) === one.severity ? [] : [`${one.id}=${severityOf(one, settings)}`]
  ));
}

test("each profile sets these severities and settings", (t) => {
  const denying = CATALOGUE.filter(({ id, severity }) => severity === "deny" && !ALWAYS_DENYING.has(id));
  const denied = ["ACK-05", "ACK-09", "NS-02", "AC-03", "AC-05", "ACK-37", "ACK-38", "FE-03"];
  const strict = denied.map((id) => `${id}=deny`);
  const rows = [
    ["observe", denying.map(({ id }) => `${id}=warn`), { base: null, unmatched: null }],
    ["enforce", [], { base: null, unmatched: null }],
    ["strict", strict, { base: "identity-only", unmatched: "deny" }],
  ] as const;
  for (const [profile, severities, ofSidecar] of rows) {
    t.same(new Set(changed(profile)), new Set(severities), profile);
    t.match(readSettings("sidecar", { ...SIDECAR, profile }, {}), ofSidecar);
    t.match(readSettings("sidecar", SIDECAR, { ACK_ROLE_RESOLVER_PROFILE: profile }), ofSidecar);
    t.notMatch(PROFILES.check[profile], [/WAIVER-01/]);
  }
  t.same(readSettings("sidecar", SIDECAR, {}), readSettings("sidecar", { ...SIDECAR, profile: "enforce" }, {}));
  t.end();
});

test("a setting overrides every profile", (t) => {
  for (const profile of PROFILE_NAMES) {
    t.notOk(changed(profile, ["IRS-02=deny"]).some((one) => one.startsWith("IRS-02")), profile);
    t.ok(changed(profile, ["IRS-02=off"]).includes("IRS-02=off"));
    const own = { base: "vend", unmatched: "base" } as const;
    t.match(readSettings("sidecar", { ...SIDECAR, ...own, profile }, {}), own);
  }
  t.end();
});

test("withOtherChecks lists each check that * stands for, except those that are set", (t) => {
  t.same(withOtherChecks(checkSeveritiesOf(["IRS-02=deny"])), new Map([["IRS-02", "deny"]]));
  const observe = withOtherChecks(checkSeveritiesOf(["IRS-02=deny"], "observe"));
  t.match([observe.get("IRS-02"), observe.get("IRS-03"), observe.has("*"), observe.has("ACK-35")],
    ["deny", "warn", false, false]);
  for (const id of [...ALWAYS_DENYING, "ACK-05"]) t.notOk(observe.has(id), id);
  t.end();
});
