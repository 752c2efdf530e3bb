import { test } from "tap";
import type { JsonObject } from "../../../../../shared/formats/json.ts";
import { namespaceObject } from "../../objects.ts";
import type { Circumstances } from "../selector-changes.ts";
import { ACCOUNT_MAP, annotationLines, CARM, linesOf, mapObject, ONE, roleIn, TEAM_MAP } from "../subjects.ts";

const owner = (value: string): JsonObject => ({ "services.k8s.aws/owner-account-id": value });
const team = (value: string): JsonObject => ({ "services.k8s.aws/team-id": value });
const OWNER_PATH = "metadata.annotations[services.k8s.aws/owner-account-id]";
const TEAM_PATH = "metadata.annotations[services.k8s.aws/team-id]";
const FIX = "First add the key and the role's ARN to the ConfigMap, or correct the annotation of the namespace.";
const ACCOUNTS = mapObject(ACCOUNT_MAP, { [ONE]: roleIn(ONE), empty: "", "s3.only": roleIn(ONE) });
const TEAMS = mapObject(TEAM_MAP, { payments: roleIn(ONE) });
const carm = (more: object = {}): Circumstances => ({ known: [ACCOUNTS, TEAMS], settings: { ...CARM, ...more } });
const BOTH = { teamLevelCARM: true };

test("NS-03 in mode carm denies an account ID that is not a key of the map, and in mode selectors only warns", (t) => {
  const line = (key: string): string => (
    `NS-03 ${OWNER_PATH}: ConfigMap ack-system/ack-role-account-map has no role for key "${key}". ${FIX}`
  );
  t.same(annotationLines("NS-03", owner("777788889999"), carm()), [`deny ${line("777788889999")}`]);
  t.same(annotationLines("NS-03", owner("empty"), carm()), [`deny ${line("empty")}`]);
  t.same(annotationLines("NS-03", owner("777788889999"), { known: [ACCOUNTS] }), [`warn ${line("777788889999")}`]);
  t.same(annotationLines("NS-03", owner(ONE), carm()), []);
  t.same(annotationLines("NS-03", owner(""), carm()), []);
  t.same(annotationLines("NS-03", {}, carm()), []);
  t.end();
});

test("NS-03 denies an account ID if the map is missing, and checks only annotations that controllers read", (t) => {
  t.same(annotationLines("NS-03", owner(ONE), { settings: CARM }), [
    `deny NS-03 ${OWNER_PATH}: ConfigMap ack-system/ack-role-account-map does not exist, so key "${ONE}" has no role. `
    + FIX,
  ]);
  t.equal(annotationLines("NS-03", owner("only"), carm()).length, 1);
  t.same(annotationLines("NS-03", owner("only"), carm({ serviceLevelCARM: true })), [], "one service has an entry");
  t.equal(annotationLines("NS-03", owner("onl"), carm({ serviceLevelCARM: true })).length, 1);
  const both = { ...owner("none"), ...team("payments") };
  t.same(annotationLines("NS-03", both, carm(BOTH)), [], "controllers look up only the team");
  t.equal(annotationLines("NS-03", both, carm()).length, 1, "without team-level CARM controllers look up the account");
  t.same(linesOf("NS-03", namespaceObject("kube-public", {}, owner("none")), carm()), [], "an ignored namespace");
  t.same(
    annotationLines("NS-03", owner("none"), { origin: "file", settings: CARM }),
    [],
    "the manifests contain no maps",
  );
  t.end();
});

test("NS-03 denies a new key without a role, and only warns if the stored namespace has this key", (t) => {
  const old = namespaceObject("team-a", {}, owner("none"));
  t.match(linesOf("NS-03", namespaceObject("team-a", { cost: "7" }, owner("none")), { ...carm(), old }), [/^warn /]);
  t.match(linesOf("NS-03", namespaceObject("team-a", {}, owner("nobody")), { ...carm(), old }), [/^deny /]);
  t.end();
});

test("NS-03 warns about a mistyped account ID, also without a map", (t) => {
  const lines = (value: string): string[] => annotationLines("NS-03", owner(value), { origin: "file" });
  for (const value of ["1111-2222-3333", "11112222333", " 111122223333"]) {
    t.same(lines(value), [
      `warn NS-03 ${OWNER_PATH}: ${JSON.stringify(value)} looks like an account id, but is not exactly 12 digits. `
      + "Write the 12 digits of the account id, in quotes.",
    ]);
  }
  for (const value of [ONE, "payments", "team-7", "", "-"]) t.same(lines(value), [], value);
  t.end();
});

test("NS-05 warns in mode carm about an annotation that controllers ignore", (t) => {
  const fix = "Keep only the annotation that controllers should use.";
  t.same(annotationLines("NS-05", team("payments"), carm()), [
    `warn NS-05 ${TEAM_PATH}: controllers ignore the team, because --team-level-carm is off. ${fix}`,
  ]);
  t.same(annotationLines("NS-05", { ...team("payments"), ...owner(ONE) }, carm(BOTH)), [
    `warn NS-05 ${OWNER_PATH}: controllers ignore the account, because the team "payments" takes precedence. `
    + fix,
  ]);
  t.same(annotationLines("NS-05", team("payments"), carm(BOTH)), []);
  t.same(annotationLines("NS-05", owner(ONE), carm()), []);
  t.same(annotationLines("NS-05", team("payments")), [], "in mode selectors CM-09 reports the annotation");
  t.end();
});

test("NS-03 denies a team that is not a key of the team map if TeamLevelCARM is on", (t) => {
  t.same(annotationLines("NS-03", team("search"), carm(BOTH)), [
    `deny NS-03 ${TEAM_PATH}: ConfigMap ack-system/ack-role-team-map has no role for key "search". ${FIX}`,
  ]);
  t.same(annotationLines("NS-03", team("payments"), carm(BOTH)), []);
  t.same(annotationLines("NS-03", team("search"), carm()), []);
  t.same(linesOf("NS-03", namespaceObject("kube-system", {}, team("search")), carm(BOTH)), []);
  t.end();
});

test("CM-09 warns about CARM annotations in mode selectors", (t) => {
  const line = (path: string): string => (
    `warn CM-09 ${path}: the annotation has no effect, because IAMRoleSelectors set the role. `
    + "Create an IAMRoleSelector for the namespace, and remove the annotation once no controller uses CARM."
  );
  t.same(annotationLines("CM-09", { ...owner(ONE), ...team("payments") }), [line(OWNER_PATH), line(TEAM_PATH)]);
  t.same(annotationLines("CM-09", owner(ONE), carm()), []);
  const region = { "services.k8s.aws/default-region": "eu-west-1" };
  t.same(annotationLines("CM-09", region), [], "controllers read this annotation in both modes");
  t.end();
});

test("NS-10 warns about CARM annotations on a namespace that CARM ignores", (t) => {
  t.same(linesOf("NS-10", namespaceObject("kube-system", {}, owner(ONE))), [
    `warn NS-10 ${OWNER_PATH}: controllers ignore this annotation on namespace kube-system. `
    + "Move the resources to another namespace, or use an IAMRoleSelector.",
  ]);
  t.same(linesOf("NS-10", namespaceObject("kube-systems", {}, owner(ONE))), []);
  t.same(linesOf("NS-10", namespaceObject("kube-public", { "services.k8s.aws/team-id": "a" })), [], "a label");
  t.end();
});
