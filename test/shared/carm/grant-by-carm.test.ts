import { CARM_MAPS } from "../../../shared/carm/map-store.ts";
import { test } from "tap";
import type { DecisionSettings } from "../../../shared/core/context.ts";
import { grantInNamespace, grantRole, grantSelector } from "../../../shared/core/grant-decision.ts";
import type { NamespaceQuery, RoleQuery } from "../../../shared/core/grant.ts";
import type { Inventory } from "../../../shared/core/inventory.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import {
  ACCOUNT_MAP, inventoryWith, mapObject, namespaceObject, put, removal, selectorObject, SETTINGS_BY_DEFAULT, TEAM_MAP,
} from "../objects.ts";
import { testRows } from "../rows.ts";
import { ANYWHERE, grantText, RDS, S3, TEAM_A } from "../core/comparable-grant.ts";

// grant-by-carm.property.test.ts compares the verdicts with the roles of namespaces. These rows show the messages.
const A = "arn:aws:iam::111122223333:role/a";
const B = "arn:aws:iam::444455556666:role/b";
const C = "arn:aws:iam::444455556666:role/c";
const CARM: DecisionSettings = { ...SETTINGS_BY_DEFAULT, mode: "carm" };
const SERVICES = { settings: { ...CARM, serviceLevelCARM: true } };
const TEAMS = { settings: { ...CARM, teamLevelCARM: true } };
const SELECTORS = { settings: SETTINGS_BY_DEFAULT };

const accounts = (data: JsonObject): JsonObject => mapObject(ACCOUNT_MAP, data);
const teams = (data: JsonObject): JsonObject => mapObject(TEAM_MAP, data);
const owned = (name: string, account: string, team?: string): JsonObject => namespaceObject(name, {}, {
  "services.k8s.aws/owner-account-id": account, ...(team !== undefined && { "services.k8s.aws/team-id": team }),
});
/** Returns namespaces whose annotations name the accounts. */
const namespacesOf = (...keys: readonly string[]): JsonObject[] => keys.map((key) => owned(`of-${key}`, key));

const OWNED = owned("owned", "111122223333");
const BLUE = namespaceObject("blue", {}, { "services.k8s.aws/team-id": "blue" });
/** In mode selectors, this selector would grant its role to every kind in every namespace. */
const SELECTOR = selectorObject("everything", { arn: C });

function inventoryOf(...objects: readonly JsonObject[]): Inventory {
  return inventoryWith([OWNED, BLUE, namespaceObject("plain"), SELECTOR, ...objects]);
}
const ofMap = (text: string): string => text.replace(/ of $/, "");
const inNamespace = ([namespace, objects, query]: [string, JsonObject[], Partial<NamespaceQuery>?]): string[] => [
  ofMap(grantText(grantInNamespace(inventoryOf(...objects), { ...TEAM_A, namespace, settings: CARM, ...query }))),
];
const ofRole = ([roleARN, objects, query]: [string, JsonObject[], Partial<RoleQuery>?]): string[] => [
  ofMap(grantText(grantRole(inventoryOf(...objects), roleARN, { ...ANYWHERE, settings: CARM, ...query }))),
];

const MAPS = [accounts({ "111122223333": A, other: A }), teams({ blue: B })];
const BUCKET = { kinds: [{ kind: "Bucket", version: null, group: S3 }] };
const BASE = { unmatched: "base" } as const;
const PER_SERVICE = [accounts({ "111122223333": A, "s3.111122223333": B })];
const BOTH = { ...SERVICES, groups: [S3, RDS] };
const dependsOn = (kinds: string): string => `ERR_SELECTOR_AMBIGUOUS [] In namespace owned the role depends on the `
  + `kind `
  + `(${kinds}). Request one kind with kind=KIND.VERSION.GROUP at /v1/credentials/namespaces/owned, or set --kind of `
  + `the `
  + "sidecar.";
const NEW_SERVICE = [accounts({ "newsvc.111122223333": A }), ...namespacesOf("newsvc.111122223333")];
const dotted = [owned("dotted", "newsvc.111122223333"), ...NEW_SERVICE];

testRows("grants the role that the CARM maps have for a namespace, and never the base identity for a "
  + "fault", inNamespace, [
  ["any labels", ["owned", MAPS, { ...BUCKET, labels: new Map([["tier", "gold"]]) }], A],
  ["a team", ["blue", MAPS, TEAMS], B],
  ["no annotation, --unmatched base", ["plain", MAPS, BASE], "base"],
  ["no annotation", ["plain", MAPS], "ERR_SELECTOR_UNMATCHED [] Namespace plain names no account or team for the CARM "
    + "maps, and the sidecar runs with --unmatched deny."],
  ["an unknown namespace", ["elsewhere", MAPS], /^ERR_NAMESPACE_UNKNOWN /],
  ["no map", ["owned", [], BASE], "ERR_CARM_MAP_MISSING [] ConfigMap ack-system/ack-role-account-map does not exist, "
    + "so "
    + 'key "111122223333" has no role.'],
  ["no key", ["owned", [accounts({})], BASE], /^ERR_CARM_KEY_MISSING /],
  ["an empty value", ["owned", [accounts({ "111122223333": "" })], BASE], /^ERR_CARM_VALUE_EMPTY /],
  ["no ARN", ["owned", [accounts({ "111122223333": "nonsense" })], BASE], /^ERR_CARM_ARN /],
  ["the ARN of a user", ["owned", [accounts({ "111122223333": "arn:aws:iam::111122223333:user/jane" })], BASE],
    'ERR_CARM_ARN [] The value "arn:aws:iam::111122223333:user/jane" of key "111122223333" '
      + "in ConfigMap ack-system/ack-role-account-map is not the ARN of an IAM role, so controllers cannot assume it."],
  ["services with different roles", ["owned", PER_SERVICE, BOTH], dependsOn(`${RDS}: ${A}; ${S3}: ${B}`)],
  ["one service without a role", ["owned", [accounts({ "s3.111122223333": B })], BOTH],
    dependsOn(`${RDS}: denied (ERR_CARM_KEY_MISSING); ${S3}: ${B}`)],
  ["a request for one kind", ["owned", PER_SERVICE, { ...BOTH, ...BUCKET }], B],
  ["without the gate services have the same role", ["owned", PER_SERVICE, { groups: [S3, RDS] }], A],
  ["mode selectors", ["owned", MAPS, SELECTORS], "arn:aws:iam::444455556666:role/c of everything"],
  ["a namespace names the key of another service", ["dotted", dotted, SERVICES],
    'ERR_SELECTOR_NOT_GRANTED [] With --service-level-carm, key "newsvc.111122223333" in ConfigMap '
      + "ack-system/ack-role-account-map grants its role only to the service before the dot. "
      + 'Add the key "s3.newsvc.111122223333", or use an id without a dot.'],
]);

const planted = [accounts({ "111122223333": A, planted: B }), teams({ blue: B, red: C })];
const user = "arn:aws:iam::111122223333:user/jane";
const NOT_GRANTED = /^ERR_SELECTOR_NOT_GRANTED /;
const keys = accounts({ team: A, "s3.team": B, "rds.team": C });
const ofServices = [keys, ...namespacesOf("team", "s3.team", "rds.team")];
const scoped = [accounts({ "111122223333": A, other: B, "rds.111122223333": C })];
const inTeam = owned("both", "planted", "green");

testRows("grants a role by ARN only if the annotations of an existing namespace lead to its entry", ofRole, [
  ["an entry of the account map", [A, MAPS], A],
  ["TeamLevelCARM is off", [B, MAPS],
    `ERR_SELECTOR_NOT_GRANTED [] No entry of ConfigMap ack-system/ack-role-account-map grants "${B}" to ${S3}. `
      + "Add an entry for the account or team that uses the role, or request another role."],
  ["TeamLevelCARM is on", [B, MAPS, TEAMS], B],
  ["two maps", [C, MAPS, TEAMS],
    /No entry of ConfigMaps ack-system\/ack-role-account-map and ack-role-team-map grants "\S+c"/],
  ["no map", [A, []], NOT_GRANTED],
  ["another --ack-system-namespace", [A, MAPS, { settings: { ...CARM, ackSystemNamespace: "x" } }], NOT_GRANTED],
  ["a user", [user, [accounts({ x: user })]], /^ERR_CARM_ARN /],
  ["the role of a selector", [C, []], NOT_GRANTED],
  ["mode selectors", [A, MAPS, SELECTORS], NOT_GRANTED],
  ["no namespace names the account", [B, planted],
    `ERR_SELECTOR_NOT_GRANTED [] Key "planted" of ConfigMap ack-system/ack-role-account-map grants "${B}", but no `
      + "existing namespace names its account or team. If a namespace is new, retry in a moment; otherwise, annotate "
      + "it."],
  ["no namespace names the team", [C, planted, TEAMS], /^ERR_SELECTOR_NOT_GRANTED \[\] Key "red" of .*team-map grants/],
  ["without TeamLevelCARM, the team has no effect", [B, [...planted, inTeam]], B],
  ["the team replaces the account", [B, [accounts({ planted: B }), inTeam], TEAMS], NOT_GRANTED],
  ["a namespace that CARM ignores", [B, [...planted, owned("kube-system", "planted")]], NOT_GRANTED],
  ["almost the account",
    [B, [...planted, ...namespacesOf("beside-team:planted", "-beside-team:planted", "account:planted", " planted")]],
    NOT_GRANTED],
  ["another case", [B, [...planted, ...namespacesOf("PLANTED")]], NOT_GRANTED],
  ["the key s3.team overrides the key team", [A, ofServices, SERVICES], NOT_GRANTED],
  ["the key belongs to rds", [C, ofServices, SERVICES], NOT_GRANTED],
  ["no key sqs.team overrides the key team", [A, ofServices, { ...SERVICES, groups: [S3, "sqs.services.k8s.aws"] }], A],
  ["--kind excludes rds", [C, ofServices, { ...BOTH, ...BUCKET }], NOT_GRANTED],
  ["no namespace can name the empty key", [A, [accounts({ "s3.": A })], SERVICES], NOT_GRANTED],
  ["an unknown service", [A, NEW_SERVICE, SERVICES], NOT_GRANTED],
  ["an unknown service in a scope", [A, NEW_SERVICE, { ...SERVICES, scope: "owned" }], /^ERR_CARM_KEY_MISSING /],
  ["the role of the scope", [A, scoped, { scope: "owned" }], A],
  ["a role of another namespace than the scope", [B, scoped, { scope: "owned" }],
    new RegExp(`^ERR_SELECTOR_NOT_GRANTED .* grants "${B}" to ${S3} in namespace owned, the scope of this sidecar\\.`)],
  ["a service of the scope", [C, scoped, { ...BOTH, scope: "owned" }], C],
  ["a scope without an annotation", [A, scoped, { scope: "plain" }], NOT_GRANTED],
  ["an unknown scope", [A, scoped, { scope: "elsewhere" }], /^ERR_NAMESPACE_UNKNOWN /],
  ["the team map of the scope is missing", [B, scoped, { ...TEAMS, scope: "blue" }], /^ERR_CARM_MAP_MISSING /],
]);

test("in mode carm, does not grant the role of a selector", (t) => {
  t.equal(
    grantText(grantSelector(inventoryOf(), "everything", { ...ANYWHERE, settings: CARM })),
    "ERR_SELECTOR_NOT_GRANTED [] With --mode carm, only the CARM ConfigMaps grant roles, not "
      + "IAMRoleSelectors. Request the credentials of a namespace, or run the controllers and the sidecar with --mode "
      + "selectors.",
  );
  t.end();
});

test("grants the role of a namespace by ARN until the namespace is gone or names another account", (t) => {
  const inventory = inventoryOf(accounts({ "111122223333": A, other: B }));
  const grant = (): string => grantRole(inventory, A, { ...ANYWHERE, settings: CARM }).verdict;
  t.equal(grant(), "role");
  inventory.apply([put({ ...OWNED, status: { phase: "Terminating" } })]);
  t.equal(grant(), "role", "the finalizers of resources still need the role");
  inventory.apply([put(owned("owned", "other"))]);
  t.equal(grant(), "denied");
  inventory.apply([put(OWNED)]);
  t.equal(grant(), "role");
  inventory.apply([removal("", "Namespace", "owned")]);
  t.equal(grant(), "denied");
  t.end();
});

test("sets grantedBy to the data of the map, which is a new object after the map changes", (t) => {
  const inventory = inventoryOf(accounts({ "111122223333": A }));
  const sources = (): unknown[] => [
    grantInNamespace(inventory, { ...TEAM_A, namespace: "owned", settings: CARM }),
    grantRole(inventory, A, { ...ANYWHERE, settings: CARM }),
  ].map((grant) => (grant.verdict === "role" ? grant.grantedBy : null));
  const [before] = sources();
  t.equal(before, inventory.of(CARM_MAPS).data("ack-system", "ack-role-account-map"));
  t.ok(sources().every((grantedBy) => grantedBy === before));
  inventory.apply([put(accounts({ "111122223333": A, more: B }))]);
  t.notOk(sources().includes(before));
  t.end();
});
