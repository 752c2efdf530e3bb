import { test } from "tap";
import type { DecisionSettings } from "../../../../shared/contract/context.ts";
import { grantInNamespace, grantRole, grantSelector } from "../../../../shared/resolution/grant-decision.ts";
import type { Grant, NamespaceQuery, RoleQuery } from "../../../../shared/resolution/grant.ts";
import { Inventory } from "../../../../shared/inventory/inventory.ts";
import type { JsonObject } from "../../../../shared/formats/json.ts";
import { namespaceObject, put, selectorObject, SETTINGS_BY_DEFAULT } from "../objects.ts";

const S3 = "s3.services.k8s.aws";
const RDS = "rds.services.k8s.aws";
const A = "arn:aws:iam::111122223333:role/a";
const B = "arn:aws:iam::444455556666:role/b";
const C = "arn:aws:iam::444455556666:role/c";
const CARM: DecisionSettings = { ...SETTINGS_BY_DEFAULT, mode: "carm" };
const SERVICES: DecisionSettings = { ...CARM, serviceLevelCARM: true };
const TEAMS: DecisionSettings = { ...CARM, teamLevelCARM: true };

const configMap = (name: string, data: unknown): JsonObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "ack-system" },
  data,
});
const accounts = (data: unknown): JsonObject => configMap("ack-role-account-map", data);
const teams = (data: unknown): JsonObject => configMap("ack-role-team-map", data);

const OWNED = namespaceObject("owned", {}, { "services.k8s.aws/owner-account-id": "111122223333" });
const BLUE = namespaceObject("blue", {}, { "services.k8s.aws/team-id": "blue" });
const PLAIN = namespaceObject("plain");

/** Returns namespaces whose annotations name the accounts. */
const namespacesOf = (...keys: readonly string[]): JsonObject[] => keys.map((key) => (
  namespaceObject(`of-${key}`, {}, { "services.k8s.aws/owner-account-id": key })
));

/** In mode selectors, this selector would grant its role to every kind in every namespace. */
const SELECTOR = selectorObject("everything", { arn: C });

function inventoryOf(...objects: readonly JsonObject[]): Inventory {
  const inventory = new Inventory({ runtime: "ack", origin: "cluster" });
  inventory.apply([OWNED, BLUE, PLAIN, SELECTOR, ...objects].map(put));
  return inventory;
}

/** Returns the role, `base`, or the code and the message of the denial. */
function describe(grant: Grant): string {
  if (grant.verdict === "denied") return `${grant.code} ${grant.message}`;
  return grant.verdict === "role" ? grant.roleARN : grant.verdict;
}

function inNamespace(namespace: string, objects: readonly JsonObject[], query: Partial<NamespaceQuery> = {}): string {
  return describe(
    grantInNamespace(inventoryOf(...objects), {
      namespace,
      groups: [S3],
      kinds: [],
      labels: null,
      unmatched: "deny",
      settings: CARM,
      ...query,
    }),
  );
}

function ofRole(roleARN: string, objects: readonly JsonObject[], query: Partial<RoleQuery> = {}): string {
  return describe(
    grantRole(inventoryOf(...objects), roleARN, { groups: [S3], kinds: [], scope: null, settings: CARM, ...query }),
  );
}

test("grants the role that the CARM maps have for a namespace, for any kind and any labels", async (t) => {
  const maps = [accounts({ "111122223333": A }), teams({ blue: B })];
  t.equal(inNamespace("owned", maps), A);
  t.equal(
    inNamespace("owned", maps, {
      kinds: [{ kind: "Bucket", version: null, group: S3 }],
      labels: new Map([["tier", "gold"]]),
    }),
    A,
  );
  t.equal(inNamespace("blue", maps, { settings: TEAMS }), B);
  t.equal(inNamespace("plain", maps, { unmatched: "base" }), "base");
  t.equal(
    inNamespace("plain", maps),
    "ERR_SELECTOR_UNMATCHED Namespace plain names no account or team for the CARM maps, and the sidecar runs with "
      + "--unmatched deny.",
  );
  t.match(inNamespace("elsewhere", maps), "ERR_NAMESPACE_UNKNOWN");
  const grant = grantInNamespace(inventoryOf(...maps), {
    namespace: "owned",
    groups: [S3],
    kinds: [],
    labels: null,
    unmatched: "deny",
    settings: CARM,
  });
  t.match(grant, { selectors: [], extras: { externalID: null, tags: [] } });
});

test("denies a request if the CARM maps have a fault, and never grants the base identity", async (t) => {
  const denial = (...objects: readonly JsonObject[]): string => inNamespace("owned", objects, { unmatched: "base" });
  t.equal(
    denial(),
    'ERR_CARM_MAP_MISSING ConfigMap ack-system/ack-role-account-map does not exist, so key "111122223333" has no role.',
  );
  t.match(denial(accounts({})), "ERR_CARM_KEY_MISSING");
  t.match(denial(accounts({ "111122223333": "" })), "ERR_CARM_VALUE_EMPTY");
  t.match(denial(accounts({ "111122223333": "nonsense" })), "ERR_CARM_ARN");
  t.equal(
    denial(accounts({ "111122223333": "arn:aws:iam::111122223333:user/jane" })),
    'ERR_CARM_ARN The value "arn:aws:iam::111122223333:user/jane" of key "111122223333" '
      + "in ConfigMap ack-system/ack-role-account-map is not the ARN of an IAM role. Correct the value.",
    "controllers accept an ARN that is not a role ARN",
  );
});

test("denies a namespace if its services have different roles, unless the request names a kind", async (t) => {
  const maps = [accounts({ "111122223333": A, "s3.111122223333": B })];
  const query = { groups: [S3, RDS], settings: SERVICES };
  t.equal(
    inNamespace("owned", maps, query),
    `ERR_SELECTOR_AMBIGUOUS In namespace owned the role depends on the kind (${RDS}: ${A}; ${S3}: ${B}). `
      + "Request one kind with kind=KIND.VERSION.GROUP at /v1/credentials/namespaces/owned, or set --kind of the "
        + "sidecar.",
  );
  t.equal(inNamespace("owned", maps, { ...query, kinds: [{ kind: "Bucket", version: null, group: S3 }] }), B);
  t.equal(inNamespace("owned", maps, { ...query, settings: CARM }), A, "without the gate services have the same role");
  t.match(
    inNamespace("owned", [accounts({ "s3.111122223333": B })], query),
    `(${RDS}: denied (ERR_CARM_KEY_MISSING); ${S3}: ${B})`,
  );
});

test("in mode carm, does not grant the role of a selector", async (t) => {
  const grant = grantSelector(inventoryOf(), "everything", { groups: [S3], kinds: [], scope: null, settings: CARM });
  t.equal(
    describe(grant),
    "ERR_SELECTOR_NOT_GRANTED With --mode carm, only the CARM ConfigMaps grant roles, not IAMRoleSelectors. "
      + "Request the credentials of a namespace, or run the controllers and the sidecar with --mode selectors.",
  );
  t.match(ofRole(C, []), "ERR_SELECTOR_NOT_GRANTED");
});

test("in mode selectors, does not grant the role of a CARM map", async (t) => {
  t.match(ofRole(A, [accounts({ "111122223333": A })], { settings: SETTINGS_BY_DEFAULT }), "ERR_SELECTOR_NOT_GRANTED");
  t.equal(inNamespace("owned", [accounts({ "111122223333": A })], { settings: SETTINGS_BY_DEFAULT }), C);
});

test("grants a role ARN that is in the account map, or in the team map if TeamLevelCARM is on", async (t) => {
  const maps = [accounts({ "111122223333": A, other: A }), teams({ blue: B })];
  t.equal(ofRole(A, maps), A);
  t.equal(
    ofRole(B, maps),
    `ERR_SELECTOR_NOT_GRANTED No entry of ConfigMap ack-system/ack-role-account-map grants "${B}" to ${S3}. `
      + "Add an entry for the account or team that uses the role, or request another role.",
  );
  t.equal(ofRole(B, maps, { settings: TEAMS }), B);
  t.match(
    ofRole(C, maps, { settings: TEAMS }),
    `No entry of ConfigMaps ack-system/ack-role-account-map and ack-role-team-map grants "${C}"`,
  );
  t.match(ofRole(A, []), "ERR_SELECTOR_NOT_GRANTED");
  t.match(ofRole(A, maps, { settings: { ...CARM, ackSystemNamespace: "elsewhere" } }), "ERR_SELECTOR_NOT_GRANTED");
  const user = "arn:aws:iam::111122223333:user/jane";
  t.match(ofRole(user, [accounts({ x: user })]), "ERR_CARM_ARN");
  t.match(ofRole(user, [accounts({ x: user })], { settings: { ...CARM, runtime: "extended" } }), "ERR_CARM_ARN");
});

test("grants no role by ARN if the map key is for another service or has a service key", async (t) => {
  const maps = [accounts({ team: A, "s3.team": B, "rds.team": C }), ...namespacesOf("team", "s3.team", "rds.team")];
  t.equal(ofRole(B, maps, { settings: SERVICES }), B);
  t.match(
    ofRole(A, maps, { settings: SERVICES }),
    "ERR_SELECTOR_NOT_GRANTED",
    "the key s3.team overrides the key team",
  );
  t.match(ofRole(C, maps, { settings: SERVICES }), "ERR_SELECTOR_NOT_GRANTED", "the key belongs to rds");
  t.equal(ofRole(C, maps, { settings: SERVICES, groups: [S3, RDS] }), C);
  t.equal(
    ofRole(A, maps, { settings: SERVICES, groups: [S3, "sqs.services.k8s.aws"] }),
    A,
    "no key sqs.team overrides the key team",
  );
  t.match(
    ofRole(C, maps, { settings: SERVICES, groups: [S3, RDS], kinds: [{ kind: "Bucket", version: null, group: S3 }] }),
    "ERR_SELECTOR_NOT_GRANTED",
    "--kind excludes rds",
  );
  for (const roleARN of [A, B, C])
    t.equal(ofRole(roleARN, maps), roleARN, "without the gate the prefix has no meaning");
});

test("grants nothing for a map key of another service, even if the service is unknown", async (t) => {
  const newService = [accounts({ "newsvc.111122223333": A }), ...namespacesOf("newsvc.111122223333")];
  t.match(ofRole(A, newService, { settings: SERVICES }), "ERR_SELECTOR_NOT_GRANTED");
  t.match(ofRole(A, newService, { settings: SERVICES, scope: "owned" }), "ERR_CARM_KEY_MISSING");
  t.equal(ofRole(A, newService), A, "without the gate the prefix has no meaning");
  const dotted = namespaceObject("dotted", {}, { "services.k8s.aws/owner-account-id": "newsvc.111122223333" });
  const inDotted = (objects: readonly JsonObject[], settings: DecisionSettings): string => (
    inNamespace("dotted", [dotted, ...objects], { settings })
  );
  t.equal(
    inDotted(newService, SERVICES),
    'ERR_SELECTOR_NOT_GRANTED With --service-level-carm, key "newsvc.111122223333" in ConfigMap '
      + "ack-system/ack-role-account-map grants its role only to the service before the dot. "
      + 'Add the key "s3.newsvc.111122223333", or use an id without a dot.',
    "a namespace names the whole key",
  );
  t.equal(inDotted(newService, CARM), A);
  t.equal(inDotted([accounts({ "newsvc.111122223333": A, "s3.newsvc.111122223333": B })], SERVICES), B);
  t.match(
    ofRole(A, [accounts({ "s3.": A })], { settings: SERVICES }),
    "ERR_SELECTOR_NOT_GRANTED",
    "no namespace can name the empty key",
  );
});

test("grants a role by ARN only if the annotations of an existing namespace lead to its entry", async (t) => {
  const maps = [accounts({ "111122223333": A, planted: B }), teams({ blue: B, red: C })];
  t.equal(ofRole(A, maps), A);
  t.equal(
    ofRole(B, maps),
    `ERR_SELECTOR_NOT_GRANTED Key "planted" of ConfigMap ack-system/ack-role-account-map grants "${B}", but no `
      + "existing namespace names its account or team. If a namespace is new, retry in a moment; otherwise, annotate "
      + "it.",
  );
  t.equal(ofRole(B, [...maps, ...namespacesOf("planted")]), B);
  t.equal(ofRole(B, maps, { settings: TEAMS }), B);
  t.match(ofRole(C, maps, { settings: TEAMS }), /^ERR_SELECTOR_NOT_GRANTED Key "red" of .*\/ack-role-team-map grants/);
  const both = namespaceObject("both", {}, {
    "services.k8s.aws/owner-account-id": "planted", "services.k8s.aws/team-id": "green",
  });
  t.equal(ofRole(B, [...maps, both]), B, "without TeamLevelCARM, the team has no effect");
  const accountsOnly = [accounts({ planted: B }), both];
  t.match(ofRole(B, accountsOnly, { settings: TEAMS }), "ERR_SELECTOR_NOT_GRANTED", "the team replaces the account");
  const ignored = namespaceObject("kube-system", {}, { "services.k8s.aws/owner-account-id": "planted" });
  t.match(ofRole(B, [...maps, ignored]), "ERR_SELECTOR_NOT_GRANTED");
  for (const key of ["beside-team:planted", "-beside-team:planted", "account:planted", " planted", "PLANTED"]) {
    t.match(ofRole(B, [...maps, ...namespacesOf(key)]), "ERR_SELECTOR_NOT_GRANTED", key);
  }
});

test("grants the role of a namespace by ARN until the namespace is gone or names another account", async (t) => {
  const inventory = inventoryOf(accounts({ "111122223333": A, other: B }));
  const grant = (): string => (
    describe(grantRole(inventory, A, { groups: [S3], kinds: [], scope: null, settings: CARM })).replace(/ .*/, "")
  );
  t.equal(grant(), A);
  inventory.apply([put({ ...OWNED, status: { phase: "Terminating" } })]);
  t.equal(grant(), A, "the finalizers of resources still need the role");
  inventory.apply([put(namespaceObject("owned", {}, { "services.k8s.aws/owner-account-id": "other" }))]);
  t.equal(grant(), "ERR_SELECTOR_NOT_GRANTED");
  inventory.apply([put(OWNED)]);
  t.equal(grant(), A);
  inventory.apply([{ type: "remove", group: "", kind: "Namespace", namespace: "", name: "owned" }]);
  t.equal(grant(), "ERR_SELECTOR_NOT_GRANTED");
});

test("grants a role by ARN in a scope only if the CARM maps have the role for the scope", async (t) => {
  const maps = [accounts({ "111122223333": A, other: B, "rds.111122223333": C })];
  const scoped = (roleARN: string, scope: string, query: Partial<RoleQuery> = {}): string =>
    ofRole(roleARN, maps, { scope, ...query });
  t.equal(scoped(A, "owned"), A);
  t.match(
    scoped(B, "owned"),
    new RegExp(`^ERR_SELECTOR_NOT_GRANTED .* grants "${B}" to ${S3} in namespace owned, the scope of this sidecar\\.`),
  );
  t.equal(scoped(C, "owned", { settings: SERVICES, groups: [S3, RDS] }), C);
  t.match(scoped(A, "plain"), "ERR_SELECTOR_NOT_GRANTED");
  t.match(scoped(A, "elsewhere"), "ERR_NAMESPACE_UNKNOWN");
  t.match(scoped(B, "blue", { settings: TEAMS }), "ERR_CARM_MAP_MISSING", "the team map of the scope is missing");
});

test("sets grantedBy to the data of the map, which is a new object after the map changes", async (t) => {
  const inventory = inventoryOf(accounts({ "111122223333": A }));
  const sources = (): unknown[] =>
    [
      grantInNamespace(inventory, {
        namespace: "owned",
        groups: [S3],
        kinds: [],
        labels: null,
        unmatched: "deny",
        settings: CARM,
      }),
      grantRole(inventory, A, { groups: [S3], kinds: [], scope: null, settings: CARM }),
    ].map((grant) => (grant.verdict === "role" ? grant.grantedBy : null));
  const [before] = sources();
  t.equal(before, inventory.configMap("ack-system", "ack-role-account-map"));
  t.ok(sources().every((grantedBy) => grantedBy === before));
  inventory.apply([accounts({ "111122223333": A, more: B }), ...namespacesOf("more")].map(put));
  t.notOk(sources().includes(before));
  t.equal(
    describe(grantRole(inventory, B, { groups: [S3], kinds: [], scope: null, settings: CARM })),
    B,
    "the grant uses the new data",
  );
});
