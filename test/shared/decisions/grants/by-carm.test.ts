import { test } from "tap";
import type { DecisionSettings } from "../../../../shared/decisions/context.ts";
import { grantInNamespace, grantRole, grantSelector } from "../../../../shared/decisions/grants/decide.ts";
import type { Grant, NamespaceQuery, RoleQuery } from "../../../../shared/decisions/grants/grant.ts";
import { Inventory } from "../../../../shared/decisions/inventory/inventory.ts";
import type { JsonObject } from "../../../../shared/decisions/kubernetes/json.ts";
import { kindObject, namespaceObject, put, selectorObject, SETTINGS_BY_DEFAULT } from "../objects.ts";

const S3 = "s3.services.k8s.aws";
const RDS = "rds.services.k8s.aws";
const A = "arn:aws:iam::111122223333:role/a";
const B = "arn:aws:iam::444455556666:role/b";
const C = "arn:aws:iam::444455556666:role/c";
const CARM: DecisionSettings = { ...SETTINGS_BY_DEFAULT, mode: "carm" };
const SERVICES: DecisionSettings = { ...CARM, serviceLevelCARM: true };
const TEAMS: DecisionSettings = { ...CARM, teamLevelCARM: true };

const configMap = (name: string, data: unknown): JsonObject => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "ack-system" }, data });
const accounts = (data: unknown): JsonObject => configMap("ack-role-account-map", data);
const teams = (data: unknown): JsonObject => configMap("ack-role-team-map", data);

const OWNED = namespaceObject("owned", {}, { "services.k8s.aws/owner-account-id": "111122223333" });
const BLUE = namespaceObject("blue", {}, { "services.k8s.aws/team-id": "blue" });
const PLAIN = namespaceObject("plain");
/** Of mode selectors, where it would give every kind everywhere its role. */
const SELECTOR = selectorObject("everything", { arn: C });

function inventoryOf(...objects: readonly JsonObject[]): Inventory {
  const inventory = new Inventory({ runtime: "ack", origin: "cluster" });
  inventory.apply([OWNED, BLUE, PLAIN, SELECTOR, ...objects].map(put));
  return inventory;
}

/** The role, `base`, or the code and the message of the refusal. */
function told(grant: Grant): string {
  if (grant.verdict === "refused") return `${grant.code} ${grant.message}`;
  return grant.verdict === "role" ? grant.roleARN : grant.verdict;
}

function inNamespace(namespace: string, objects: readonly JsonObject[], query: Partial<NamespaceQuery> = {}): string {
  return told(grantInNamespace(inventoryOf(...objects), { namespace, groups: [S3], kinds: [], labels: null, unmatched: "deny", settings: CARM, ...query }));
}

function ofRole(roleARN: string, objects: readonly JsonObject[], query: Partial<RoleQuery> = {}): string {
  return told(grantRole(inventoryOf(...objects), roleARN, { groups: [S3], kinds: [], scope: null, settings: CARM, ...query }));
}

test("a namespace has the role that the maps give it, whatever the kind and the labels", async (t) => {
  const maps = [accounts({ "111122223333": A }), teams({ blue: B })];
  t.equal(inNamespace("owned", maps), A);
  t.equal(inNamespace("owned", maps, { kinds: [{ kind: "Bucket", version: null, group: S3 }], labels: new Map([["tier", "gold"]]) }), A);
  t.equal(inNamespace("blue", maps, { settings: TEAMS }), B);
  t.equal(inNamespace("plain", maps, { unmatched: "base" }), "base");
  t.equal(inNamespace("plain", maps), "ERR_SELECTOR_UNMATCHED Namespace plain names no account or team for the maps of CARM, and the base identity is not given instead (--unmatched deny).");
  t.match(inNamespace("elsewhere", maps), "ERR_NAMESPACE_UNKNOWN");
  const grant = grantInNamespace(inventoryOf(...maps), { namespace: "owned", groups: [S3], kinds: [], labels: null, unmatched: "deny", settings: CARM });
  t.match(grant, { selectors: [], extras: { externalID: null, tags: [] } });
});

test("what the maps refuse is refused, and never falls to the base identity", async (t) => {
  const refusal = (...objects: readonly JsonObject[]): string => inNamespace("owned", objects, { unmatched: "base" });
  t.equal(refusal(), "ERR_CARM_MAP_MISSING ConfigMap ack-system/ack-role-account-map is not there, so 111122223333 has no role.");
  t.match(refusal(accounts({})), "ERR_CARM_KEY_MISSING");
  t.match(refusal(accounts({ "111122223333": "" })), "ERR_CARM_VALUE_EMPTY");
  t.match(refusal(accounts({ "111122223333": "nonsense" })), "ERR_CARM_ARN");
  t.equal(
    refusal(accounts({ "111122223333": "arn:aws:iam::111122223333:user/jane" })),
    'ERR_CARM_ARN ConfigMap ack-system/ack-role-account-map has under the key "111122223333" no role\'s ARN but "arn:aws:iam::111122223333:user/jane". Correct the entry.',
    "though controllers take it",
  );
});

test("services that differ are refused, naming them, unless a kind tells the service", async (t) => {
  const maps = [accounts({ "111122223333": A, "s3.111122223333": B })];
  const query = { groups: [S3, RDS], settings: SERVICES };
  t.equal(
    inNamespace("owned", maps, query),
    `ERR_SELECTOR_AMBIGUOUS In namespace owned the role depends on the kind (${RDS}: ${A}; ${S3}: ${B}). Name one kind, with its version where that differs: kind=KIND.VERSION.GROUP at /v1/credentials/namespaces/owned, or --kind of the sidecar.`,
  );
  t.equal(inNamespace("owned", maps, { ...query, kinds: [{ kind: "Bucket", version: null, group: S3 }] }), B);
  t.equal(inNamespace("owned", maps, { ...query, settings: CARM }), A, "without the gate services do not differ");
  t.match(inNamespace("owned", [accounts({ "s3.111122223333": B })], query), `(${RDS}: a refusal (ERR_CARM_KEY_MISSING); ${S3}: ${B})`);
});

test("selectors grant nothing where the maps decide", async (t) => {
  const grant = grantSelector(inventoryOf(), "everything", { groups: [S3], kinds: [], scope: null, settings: CARM });
  t.equal(told(grant), "ERR_SELECTOR_NOT_GRANTED With --mode carm the maps of CARM give roles, and no IAMRoleSelector does. Ask for a namespace, or run controllers and sidecar with selectors.");
  t.match(ofRole(C, []), "ERR_SELECTOR_NOT_GRANTED");
});

test("and the maps grant nothing where selectors decide", async (t) => {
  t.match(ofRole(A, [accounts({ "111122223333": A })], { settings: SETTINGS_BY_DEFAULT }), "ERR_SELECTOR_NOT_GRANTED");
  t.equal(inNamespace("owned", [accounts({ "111122223333": A })], { settings: SETTINGS_BY_DEFAULT }), C);
});

test("a role is granted by its ARN when an entry gives it, of the team map only with its gate", async (t) => {
  const maps = [accounts({ "111122223333": A, other: A }), teams({ blue: B })];
  t.equal(ofRole(A, maps), A);
  t.equal(
    ofRole(B, maps),
    `ERR_SELECTOR_NOT_GRANTED No entry of ConfigMap ack-system/ack-role-account-map gives "${B}" to ${S3}. Add one for the account or team that the role is for, or ask for another role.`,
  );
  t.equal(ofRole(B, maps, { settings: TEAMS }), B);
  t.match(ofRole(C, maps, { settings: TEAMS }), `No entry of ConfigMaps ack-system/ack-role-account-map and ack-role-team-map gives "${C}"`);
  t.match(ofRole(A, []), "ERR_SELECTOR_NOT_GRANTED");
  t.match(ofRole(A, maps, { settings: { ...CARM, ackSystemNamespace: "elsewhere" } }), "ERR_SELECTOR_NOT_GRANTED");
  const user = "arn:aws:iam::111122223333:user/jane";
  t.match(ofRole(user, [accounts({ x: user })]), "ERR_CARM_ARN");
  t.match(ofRole(user, [accounts({ x: user })], { settings: { ...CARM, runtime: "extended" } }), "ERR_CARM_ARN");
});

test("with services an entry of another service, or one that a service's own stands before, is not granted", async (t) => {
  const maps = [accounts({ team: A, "s3.team": B, "rds.team": C })];
  t.equal(ofRole(B, maps, { settings: SERVICES }), B);
  t.match(ofRole(A, maps, { settings: SERVICES }), "ERR_SELECTOR_NOT_GRANTED", "s3.team stands before it");
  t.match(ofRole(C, maps, { settings: SERVICES }), "ERR_SELECTOR_NOT_GRANTED", "it is of rds");
  t.equal(ofRole(C, maps, { settings: SERVICES, groups: [S3, RDS] }), C);
  t.equal(ofRole(A, maps, { settings: SERVICES, groups: [S3, "sqs.services.k8s.aws"] }), A, "no sqs.team stands before it");
  t.match(ofRole(C, maps, { settings: SERVICES, groups: [S3, RDS], kinds: [{ kind: "Bucket", version: null, group: S3 }] }), "ERR_SELECTOR_NOT_GRANTED", "--kind leaves rds out");
  for (const roleARN of [A, B, C]) t.equal(ofRole(roleARN, maps), roleARN, "without the gate they are keys like any other");
});

test("a key with a dot is a service's only where there is such a service", async (t) => {
  t.equal(ofRole(A, [accounts({ "prod.eu": A })], { settings: SERVICES }), A);
  const prod = kindObject("Widget", "prod.services.k8s.aws", [{ name: "v1", storage: true, served: true }]);
  t.match(ofRole(A, [accounts({ "prod.eu": A }), prod], { settings: SERVICES }), "ERR_SELECTOR_NOT_GRANTED");
  t.match(ofRole(A, [accounts({ "s3.": A })], { settings: SERVICES }), "ERR_SELECTOR_NOT_GRANTED", "no namespace can name the empty key");
});

test("within a scope only what the maps give there is granted by ARN", async (t) => {
  const maps = [accounts({ "111122223333": A, other: B, "rds.111122223333": C })];
  const scoped = (roleARN: string, scope: string, query: Partial<RoleQuery> = {}): string => ofRole(roleARN, maps, { scope, ...query });
  t.equal(scoped(A, "owned"), A);
  t.match(scoped(B, "owned"), new RegExp(`^ERR_SELECTOR_NOT_GRANTED .* gives "${B}" to ${S3} in namespace owned, the scope of this sidecar\\.`));
  t.equal(scoped(C, "owned", { settings: SERVICES, groups: [S3, RDS] }), C);
  t.match(scoped(A, "plain"), "ERR_SELECTOR_NOT_GRANTED");
  t.match(scoped(A, "elsewhere"), "ERR_NAMESPACE_UNKNOWN");
  t.match(scoped(B, "blue", { settings: TEAMS }), "ERR_CARM_MAP_MISSING", "the reason why nothing is given there");
});

test("the basis of a grant is the map's data, which is another once the map has changed", async (t) => {
  const inventory = inventoryOf(accounts({ "111122223333": A }));
  const bases = (): unknown[] => [
    grantInNamespace(inventory, { namespace: "owned", groups: [S3], kinds: [], labels: null, unmatched: "deny", settings: CARM }),
    grantRole(inventory, A, { groups: [S3], kinds: [], scope: null, settings: CARM }),
  ].map((grant) => (grant.verdict === "role" ? grant.grantedBy : null));
  const [before] = bases();
  t.equal(before, inventory.configMap("ack-system", "ack-role-account-map"));
  t.ok(bases().every((grantedBy) => grantedBy === before));
  inventory.apply([put(accounts({ "111122223333": A, more: B }))]);
  t.notOk(bases().includes(before));
  t.equal(told(grantRole(inventory, B, { groups: [S3], kinds: [], scope: null, settings: CARM })), B, "nothing of the old data is remembered");
});
