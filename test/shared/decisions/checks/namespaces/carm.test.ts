import { test } from "tap";
import type { JsonObject } from "../../../../../shared/decisions/kubernetes/json.ts";
import { namespaceObject } from "../../objects.ts";
import type { Circumstances } from "../selector-changes.ts";
import { ACCOUNT_MAP, annotationLines, CARM, linesOf, mapObject, ONE, roleIn, TEAM_MAP } from "../subjects.ts";

const owner = (value: string): JsonObject => ({ "services.k8s.aws/owner-account-id": value });
const team = (value: string): JsonObject => ({ "services.k8s.aws/team-id": value });
const FIX = "Add the key with its role's ARN to the map first, or correct the annotation.";
const ACCOUNTS = mapObject(ACCOUNT_MAP, { [ONE]: roleIn(ONE), empty: "", "s3.only": roleIn(ONE) });
const TEAMS = mapObject(TEAM_MAP, { payments: roleIn(ONE) });
const carm = (more: object = {}): Circumstances => ({ known: [ACCOUNTS, TEAMS], settings: { ...CARM, ...more } });
const BOTH = { teamLevelCARM: true };

test("NS-03: an account without an entry is refused in mode carm, and told in mode selectors", (t) => {
  const message = (key: string): string => `NS-03 metadata.annotations[services.k8s.aws/owner-account-id]: ConfigMap ack-system/ack-role-account-map has no role under the key "${key}". ${FIX}`;
  t.same(annotationLines("NS-03", owner("777788889999"), carm()), [`deny ${message("777788889999")}`]);
  t.same(annotationLines("NS-03", owner("empty"), carm()), [`deny ${message("empty")}`]);
  t.same(annotationLines("NS-03", owner("777788889999"), { known: [ACCOUNTS] }), [`warn ${message("777788889999")}`]);
  t.same(annotationLines("NS-03", owner(ONE), carm()), []);
  t.same(annotationLines("NS-03", owner(""), carm()), []);
  t.same(annotationLines("NS-03", {}, carm()), []);
  t.end();
});

test("NS-03: a map that is not there, entries of single services, and what nobody reads", (t) => {
  t.same(annotationLines("NS-03", owner(ONE), { settings: CARM }), [
    `deny NS-03 metadata.annotations[services.k8s.aws/owner-account-id]: ConfigMap ack-system/ack-role-account-map is not there, so "${ONE}" has no role. ${FIX}`,
  ]);
  t.equal(annotationLines("NS-03", owner("only"), carm()).length, 1);
  t.same(annotationLines("NS-03", owner("only"), carm({ serviceLevelCARM: true })), []);
  t.equal(annotationLines("NS-03", owner("onl"), carm({ serviceLevelCARM: true })).length, 1);
  t.same(annotationLines("NS-03", { ...owner("none"), ...team("payments") }, carm(BOTH)), [], "the team decides alone");
  t.equal(annotationLines("NS-03", { ...owner("none"), ...team("payments") }, carm()).length, 1, "where teams are not read the account decides");
  t.same(linesOf("NS-03", namespaceObject("kube-public", {}, owner("none")), carm()), [], "nothing is read there");
  t.same(annotationLines("NS-03", owner("none"), { origin: "file", settings: CARM }), [], "of files that hold no map nothing is known");
  t.end();
});

test("NS-03: what was wrong before does not hold up an unrelated edit, another wrong key does", (t) => {
  const old = namespaceObject("team-a", {}, owner("none"));
  t.match(linesOf("NS-03", namespaceObject("team-a", { cost: "7" }, owner("none")), { ...carm(), old }), [/^warn /]);
  t.match(linesOf("NS-03", namespaceObject("team-a", {}, owner("nobody")), { ...carm(), old }), [/^deny /]);
  t.end();
});

test("NS-03b: what looks like an account id and is none is told", (t) => {
  for (const value of ["1111-2222-3333", "11112222333", " 111122223333"]) {
    t.same(annotationLines("NS-03b", owner(value)), [
      `warn NS-03b metadata.annotations[services.k8s.aws/owner-account-id]: ${JSON.stringify(value)} looks like an account id, which has 12 digits and nothing else. Write the 12 digits of the account, in quotes.`,
    ]);
  }
  for (const value of [ONE, "payments", "team-7", "", "-"]) t.same(annotationLines("NS-03b", owner(value)), [], value);
  t.end();
});

test("NS-05: a team that nobody reads, and an account beside one that is read, are told in mode carm", (t) => {
  const fix = "Keep the one annotation that the controllers are to read.";
  t.same(annotationLines("NS-05", team("payments"), carm()), [`warn NS-05 metadata.annotations[services.k8s.aws/team-id]: the team is ignored, since --team-level-carm is not on. ${fix}`]);
  t.same(annotationLines("NS-05", { ...team("payments"), ...owner(ONE) }, carm(BOTH)), [
    `warn NS-05 metadata.annotations[services.k8s.aws/owner-account-id]: the account is ignored, since the namespace has a team too, "payments". ${fix}`,
  ]);
  t.same(annotationLines("NS-05", team("payments"), carm(BOTH)), []);
  t.same(annotationLines("NS-05", owner(ONE), carm()), []);
  t.same(annotationLines("NS-05", team("payments")), [], "in mode selectors NS-06 says it");
  t.end();
});

test("NS-05b: a team without an entry is refused where teams are read", (t) => {
  t.same(annotationLines("NS-05b", team("search"), carm(BOTH)), [
    `deny NS-05b metadata.annotations[services.k8s.aws/team-id]: ConfigMap ack-system/ack-role-team-map has no role under the key "search". ${FIX}`,
  ]);
  t.same(annotationLines("NS-05b", team("payments"), carm(BOTH)), []);
  t.same(annotationLines("NS-05b", team("search"), carm()), []);
  t.same(linesOf("NS-05b", namespaceObject("kube-system", {}, team("search")), carm(BOTH)), []);
  t.end();
});

test("NS-06: CARM's annotations are told where selectors decide", (t) => {
  const line = (key: string): string => `warn NS-06 metadata.annotations[services.k8s.aws/${key}]: the annotation has no effect, since IAMRoleSelectors decide. Write an IAMRoleSelector for the namespace, and remove the annotation once nothing runs with CARM.`;
  t.same(annotationLines("NS-06", { ...owner(ONE), ...team("payments") }), [line("owner-account-id"), line("team-id")]);
  t.same(annotationLines("NS-06", owner(ONE), carm()), []);
  t.same(annotationLines("NS-06", { "services.k8s.aws/default-region": "eu-west-1" }), [], "which both read");
  t.end();
});

test("NS-11: CARM's annotations are told where controllers never read them", (t) => {
  t.same(linesOf("NS-11", namespaceObject("kube-system", {}, owner(ONE))), [
    "warn NS-11 metadata.annotations[services.k8s.aws/owner-account-id]: controllers ignore the annotation on kube-system. Move the resources to another namespace, or use an IAMRoleSelector.",
  ]);
  t.same(linesOf("NS-11", namespaceObject("kube-systems", {}, owner(ONE))), []);
  t.same(linesOf("NS-11", namespaceObject("kube-public", { "services.k8s.aws/team-id": "a" })), [], "a label is no annotation");
  t.end();
});
