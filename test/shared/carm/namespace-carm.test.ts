import type { JsonObject } from "../../../shared/formats/json.ts";
import { ACCOUNT_MAP, FIRST, mapObject, namespaceObject, roleIn, TEAM_MAP } from "../objects.ts";
import { testRows } from "../rows.ts";
import { type Circumstances, linesOf } from "../core/findings.ts";

const owner = (value: string): JsonObject => ({ "services.k8s.aws/owner-account-id": value });
const team = (value: string): JsonObject => ({ "services.k8s.aws/team-id": value });
const OWNER_PATH = "metadata.annotations[services.k8s.aws/owner-account-id]";
const TEAM_PATH = "metadata.annotations[services.k8s.aws/team-id]";
const ACCOUNTS = mapObject(ACCOUNT_MAP, {
  [FIRST]: roleIn(FIRST), empty: "", "s3.only": roleIn(FIRST),
  root: `arn:aws:iam::${FIRST}:root`, "s3.root2": `arn:aws:iam::${FIRST}:root`,
});
const TEAMS = mapObject(TEAM_MAP, { payments: roleIn(FIRST) });
const carm = (more: object = {}): Circumstances => ({ known: [ACCOUNTS, TEAMS], settings: { mode: "carm", ...more } });
const GATE = carm({ teamLevelCARM: true });
const SERVICE = carm({ serviceLevelCARM: true });

type Input = readonly [annotations: JsonObject, circumstances?: Circumstances, namespace?: string];
const of = (id: string) => ([annotations, circumstances = carm(), namespace = "team-a"]: Input): string[] =>
  linesOf(id, namespaceObject(namespace, {}, annotations), circumstances);

const FIX = "Either add the key with the ARN of a role to the ConfigMap, or correct the annotation of the namespace.";
const noRole = (key: string): string =>
  `NS-03 ${OWNER_PATH}: ConfigMap ack-system/ack-role-account-map has no role for key "${key}". ${FIX}`;
const BOTH = { ...owner("none"), ...team("payments") };
const mistyped = (value: string): string => `warn NS-03 ${OWNER_PATH}: ${JSON.stringify(value)} looks like an account `
  + `id, but `
  + "is not exactly 12 digits. Write the 12 digits of the account id, in quotes.";
const FILE = { origin: "file" } as const;
const stored = { ...carm(), old: namespaceObject("team-a", {}, owner("none")) };

testRows("NS-03 in mode carm denies an account or team that is not a key of its map", of("NS-03"), [
  ["a missing key", [owner("777788889999")], `deny ${noRole("777788889999")}`],
  ["a key without a role", [owner("empty")], `deny ${noRole("empty")}`],
  ["the ARN of the root user", [owner("root")],
    `deny NS-03 ${OWNER_PATH}: The value "arn:aws:iam::${FIRST}:root" of key "root" in ConfigMap `
      + `ack-system/ack-role-account-map is not the ARN of an IAM role, so controllers cannot assume it. ${FIX}`],
  ["the ARN of the root user for a service", [owner("root2"), SERVICE], `deny ${noRole("root2")}`],
  ["a team of the proposal", [{ "services.k8s.aws/owner-team-id": "search" }, carm({
    teamLevelCARM: true, runtime: "extended",
  })], /^deny NS-03 metadata\.annotations\[services\.k8s\.aws\/owner-team-id\]: /],
  ["no map with ServiceLevelCARM", [owner(FIRST), { settings: { mode: "carm", serviceLevelCARM: true } }],
    /^deny NS-03 .* does not exist, so key /],
  ["mode selectors", [owner("777788889999"), { known: [ACCOUNTS] }], `warn ${noRole("777788889999")}`],
  ["a key", [owner(FIRST)]],
  ["an empty annotation", [owner("")]],
  ["no annotation", [{}]],
  ["no map", [owner(FIRST), { settings: { mode: "carm" } }],
    `deny NS-03 ${OWNER_PATH}: ConfigMap ack-system/ack-role-account-map does not exist, so key "${FIRST}" has no `
      + `role. `
      + FIX],
  ["the key of a service", [owner("only")], `deny ${noRole("only")}`],
  ["one service has an entry", [owner("only"), SERVICE]],
  ["no service has an entry", [owner("onl"), SERVICE], `deny ${noRole("onl")}`],
  ["controllers look up only the team", [BOTH, GATE]],
  ["without team-level CARM controllers look up the account", [BOTH], `deny ${noRole("none")}`],
  ["an ignored namespace", [owner("none"), carm(), "kube-public"]],
  ["manifests without maps", [owner("none"), { ...FILE, settings: { mode: "carm" } }]],
  ["the stored key", [owner("none"), stored], `warn ${noRole("none")}`],
  ["another key than the stored one", [owner("nobody"), stored], `deny ${noRole("nobody")}`],
  ["a missing team", [team("search"), GATE],
    `deny NS-03 ${TEAM_PATH}: ConfigMap ack-system/ack-role-team-map has no role for key "search". ${FIX}`],
  ["a team", [team("payments"), GATE]],
  ["a missing team without team-level CARM", [team("search")]],
  ["a missing team of an ignored namespace", [team("search"), GATE, "kube-system"]],
]);

testRows("NS-03 warns about a mistyped account ID, also without a map", of("NS-03"), [
  ...["1111-2222-3333", "11112222333", " 111122223333"].map((value) =>
    [`"${value}"`, [owner(value), FILE], mistyped(value)] as const),
  ...[FIRST, "payments", "team-7", "", "-"].map((value) => [`"${value}"`, [owner(value), FILE]] as const),
]);

const ignored = (path: string, why: string): string =>
  `warn NS-05 ${path}: controllers ignore ${why}. Keep only the annotation that controllers should use.`;
testRows("NS-05 warns in mode carm about an annotation that controllers ignore", of("NS-05"), [
  ["a team without team-level CARM", [team("payments")],
    ignored(TEAM_PATH, "the team, because --team-level-carm is off")],
  ["an account next to a team", [{ ...team("payments"), ...owner(FIRST) }, GATE],
    ignored(OWNER_PATH, 'the account, because the team "payments" takes precedence')],
  ["a team", [team("payments"), GATE]],
  ["an account", [owner(FIRST)]],
  ["in mode selectors CM-09 reports the annotation", [team("payments"), {}]],
]);

const noEffect = (path: string): string => `warn CM-09 ${path}: the annotation has no effect, because `
  + `IAMRoleSelectors set `
  + "the role. Create an IAMRoleSelector for the namespace, and remove the annotation once no controller uses CARM.";
testRows("CM-09 warns about CARM annotations in mode selectors", of("CM-09"), [
  ["both", [{ ...owner(FIRST), ...team("payments") }, {}], noEffect(OWNER_PATH), noEffect(TEAM_PATH)],
  ["mode carm", [owner(FIRST)]],
  ["controllers read the default region in both modes", [{ "services.k8s.aws/default-region": "eu-west-1" }, {}]],
]);

testRows("NS-10 warns about CARM annotations on a namespace that CARM ignores", of("NS-10"), [
  ["kube-system", [owner(FIRST), {}, "kube-system"],
    `warn NS-10 ${OWNER_PATH}: controllers ignore this annotation on namespace kube-system. `
      + "Move the resources to another namespace, or use an IAMRoleSelector."],
  ["another namespace", [owner(FIRST), {}, "kube-systems"]],
  ["another annotation", [{ "example.com/team-id": "a" }, {}, "kube-public"]],
]);
