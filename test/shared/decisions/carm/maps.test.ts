import { test } from "tap";
import type { DecisionSettings } from "../../../../shared/contract/context.ts";
import { Inventory } from "../../../../shared/inventory/inventory.ts";
import { queryOf } from "../../../../shared/contract/ack-resource.ts";
import type { JsonObject } from "../../../../shared/formats/json.ts";
import { type Resolution, resolve } from "../../../../shared/resolution/resolve.ts";
import { bucketObject, namespaceObject, put, ROLE, selectorObject, SETTINGS_BY_DEFAULT } from "../objects.ts";

const OTHER = "arn:aws:iam::444455556666:role/b";
const THIRD = "arn:aws:iam::777788889999:role/c";

const configMap = (name: string, data: unknown, namespace = "ack-system"): JsonObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace },
  data,
});
const accounts = (data: unknown, namespace?: string): JsonObject => configMap("ack-role-account-map", data, namespace);
const teams = (data: unknown): JsonObject => configMap("ack-role-team-map", data);
const annotated = (annotations: JsonObject, name = "team-a"): JsonObject => namespaceObject(name, {}, annotations);
const OWNER = { "services.k8s.aws/owner-account-id": "111122223333" };
const TEAM = { "services.k8s.aws/team-id": "blue" };

function carm(
  objects: readonly JsonObject[],
  resource: JsonObject = bucketObject(),
  settings: Partial<DecisionSettings> = {},
): Resolution {
  const inventory = new Inventory({ runtime: settings.runtime ?? "ack", origin: "cluster" });
  inventory.apply(objects.map(put));
  return resolve(inventory, queryOf(resource, "default"), { ...SETTINGS_BY_DEFAULT, mode: "carm", ...settings });
}

test("looks up the owner account of the namespace in the account map, and ignores selectors in mode carm", (t) => {
  const selector = selectorObject("a", { arn: OTHER, namespaceSelector: { names: ["team-a"] } });
  t.same(carm([annotated(OWNER), accounts({ "111122223333": ROLE }), selector]), {
    outcome: "selected",
    via: "account-map",
    selectors: [],
    roleARN: ROLE,
    accountID: "111122223333",
    region: null,
    code: null,
    message: 'The role comes from key "111122223333" of the account map.',
  });
  t.match(carm([annotated({}), accounts({ "111122223333": ROLE }), selector]), {
    outcome: "default",
    message: "The namespace names no account or team, so the controller's own role is used.",
  });
  t.end();
});

test("takes the account from the role ARN, not from the map key", (t) => {
  t.match(carm([annotated({ "services.k8s.aws/owner-account-id": "prod" }), accounts({ prod: OTHER })]), {
    roleARN: OTHER,
    accountID: "444455556666",
  });
  t.end();
});

test("looks up the account in the status of a resource if it is not the controller's account", (t) => {
  const exists = bucketObject({}, { status: { ackResourceMetadata: { ownerAccountID: "444455556666" } } });
  const map = accounts({ "444455556666": OTHER, "111122223333": ROLE });
  t.match(carm([map], exists), { via: "account-map", roleARN: OTHER });
  t.match(carm([map], exists, { controllerAccount: "999988887777" }), { via: "account-map", roleARN: OTHER });
  t.match(carm([map], exists, { controllerAccount: "444455556666" }), { outcome: "default", via: null });
  t.match(
    carm([map, annotated(OWNER)], exists),
    {
      roleARN: ROLE,
      message: /Drift: the resource exists in account 444455556666, but its role is in account 111122223333/,
    },
    "the owner account of the namespace precedes the account in the status",
  );
  t.end();
});

test("looks up only the team if TeamLevelCARM is on, and only the account if TeamLevelCARM is off", (t) => {
  const both = annotated({ ...OWNER, ...TEAM });
  const maps = [accounts({ "111122223333": ROLE }), teams({ blue: OTHER })];
  t.match(carm([both, ...maps], bucketObject(), { teamLevelCARM: true }), {
    via: "team-map",
    roleARN: OTHER,
    message: 'The role comes from key "blue" of the team map.',
  });
  t.match(carm([both, ...maps]), { via: "account-map", roleARN: ROLE });
  t.match(
    carm([both, accounts({ "111122223333": ROLE, blue: ROLE })], bucketObject(), { teamLevelCARM: true }),
    { outcome: "refused", via: "team-map" },
    "a missing team does not fall back to the account",
  );
  t.end();
});

test("with --runtime extended, reads the annotation owner-team-id if no annotation team-id exists", (t) => {
  const proposed = { "services.k8s.aws/owner-team-id": "green" };
  const map = teams({ blue: OTHER, green: THIRD });
  const gate = { teamLevelCARM: true } as const;
  t.match(carm([annotated(proposed), map], bucketObject(), gate), { outcome: "default" });
  t.match(carm([annotated(proposed), map], bucketObject(), { ...gate, runtime: "extended" }), { roleARN: THIRD });
  t.match(carm([annotated({}), map], bucketObject(), { ...gate, runtime: "extended" }), { outcome: "default" });
  t.match(carm([annotated({ ...proposed, ...TEAM }), map], bucketObject(), { ...gate, runtime: "extended" }), {
    roleARN: OTHER,
  });
  t.end();
});

test("uses a service key if ServiceLevelCARM is on and the service key has a value", (t) => {
  const gate = { serviceLevelCARM: true } as const;
  const data = { "111122223333": ROLE, "s3.111122223333": OTHER, "sqs.111122223333": THIRD };
  t.match(carm([annotated(OWNER), accounts(data)], bucketObject(), gate), { roleARN: OTHER });
  t.match(carm([annotated(OWNER), accounts(data)]), { roleARN: ROLE });
  t.match(carm([annotated(OWNER), accounts({ ...data, "s3.111122223333": "" })], bucketObject(), gate), {
    roleARN: ROLE,
  });
  t.match(carm([annotated(OWNER), accounts({ "s3.111122223333": OTHER })], bucketObject(), gate), { roleARN: OTHER });
  t.match(carm([annotated(OWNER), accounts({ "111122223333": ROLE })], bucketObject(), gate), { roleARN: ROLE });
  t.match(carm([annotated(TEAM), teams({ "s3.blue": OTHER })], bucketObject(), { ...gate, teamLevelCARM: true }), {
    via: "team-map",
    roleARN: OTHER,
  });
  t.end();
});

test("reports a missing map, a missing key, an empty value and an invalid ARN under different error codes", (t) => {
  const failure = (code: string, message: string): object => ({
    outcome: "refused",
    via: "account-map",
    selectors: [],
    roleARN: null,
    accountID: null,
    region: null,
    code,
    message,
  });
  const where = "ConfigMap ack-system/ack-role-account-map";
  t.same(
    carm([annotated(OWNER)]),
    failure("ERR_CARM_MAP_MISSING", `${where} does not exist, so key "111122223333" has no role.`),
  );
  t.same(
    carm([annotated(OWNER), accounts({ "1": ROLE })]),
    failure("ERR_CARM_KEY_MISSING", `${where} has no key "111122223333".`),
  );
  t.same(
    carm([annotated(OWNER), accounts({ "111122223333": "" })]),
    failure("ERR_CARM_VALUE_EMPTY", `${where} has no role for key "111122223333".`),
  );
  t.same(
    carm([annotated(OWNER), accounts({ "111122223333": "role/a" })]),
    failure("ERR_CARM_ARN", `The value of key "111122223333" in ${where} is not a role ARN.`),
  );
  t.match(carm([annotated(OWNER), accounts(null)]), { code: "ERR_CARM_KEY_MISSING" });
  t.end();
});

test("accepts any ARN with --runtime ack, and only role ARNs with --runtime extended", (t) => {
  const root = "arn:aws:iam::111122223333:root";
  t.match(carm([annotated(OWNER), accounts({ "111122223333": root })]), { outcome: "selected", roleARN: root });
  t.match(carm([annotated(OWNER), accounts({ "111122223333": root })], bucketObject(), { runtime: "extended" }), {
    code: "ERR_CARM_ARN",
  });
  t.end();
});

test("reads maps only from the ACK system namespace, and removes deleted maps", (t) => {
  t.match(carm([annotated(OWNER), accounts({ "111122223333": ROLE }, "default")]), { code: "ERR_CARM_MAP_MISSING" });
  t.match(
    carm([annotated(OWNER), accounts({ "111122223333": ROLE }, "ack")], bucketObject(), { ackSystemNamespace: "ack" }),
    { roleARN: ROLE },
  );
  const inventory = new Inventory({ runtime: "ack", origin: "cluster" });
  inventory.apply([put(accounts({ a: ROLE })), put(configMap("another", { a: ROLE }))]);
  t.same(inventory.configMap("ack-system", "ack-role-account-map"), new Map([["a", ROLE]]));
  t.equal(inventory.configMap("ack-system", "another"), null, "other ConfigMaps are not stored");
  inventory.apply([
    { type: "remove", group: "", kind: "ConfigMap", namespace: "ack-system", name: "ack-role-account-map" },
  ]);
  t.equal(inventory.configMap("ack-system", "ack-role-account-map"), null);
  t.end();
});

test("ignores annotations on the namespaces that CARM ignores", (t) => {
  const resource = bucketObject({ namespace: "kube-system" });
  t.match(carm([annotated(OWNER, "kube-system"), accounts({ "111122223333": ROLE })], resource), {
    outcome: "default",
  });
  const withRegion = (name: string): JsonObject =>
    annotated({ "services.k8s.aws/default-region": "eu-central-1" }, name);
  t.match(carm([withRegion("kube-system")], resource, { region: "eu-west-1" }), {
    region: { value: "eu-west-1", from: "controller" },
  });
  t.match(
    carm([withRegion("kube-system")], resource, { region: "eu-west-1", mode: "selectors" }),
    { region: { value: "eu-central-1", from: "namespace" } },
    "in mode selectors no namespace is ignored",
  );
  t.match(carm([withRegion("team-a")], bucketObject(), { region: "eu-west-1" }), {
    region: { value: "eu-central-1", from: "namespace" },
  });
  t.end();
});
