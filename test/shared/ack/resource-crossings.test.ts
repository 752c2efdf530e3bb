import { runChecks } from "../../../shared/judges.ts";
import { test } from "tap";
import { checkSeveritiesOf } from "../../../shared/core/context.ts";
import { type FieldPath, formatFieldPath, type JsonObject } from "../../../shared/formats/json.ts";
import { fieldExport } from "../../fixtures/ack-field-export-crd.ts";
import { bucketObject, selectorObject, SETTINGS_BY_DEFAULT, withWaiver } from "../objects.ts";
import { type Circumstances, findingsOf, linesOf } from "../core/findings.ts";
import { SILVER } from "./resource-lines.ts";

const FOR_NOW = "ACK allows it with --enable-cross-namespace=true";
const STRICT: Circumstances = { settings: { checkSeverities: checkSeveritiesOf([], "strict") } };
const TEAM_B = selectorObject("team-b", { arn: SILVER, namespaceSelector: { names: ["team-b"] } });

/** Returns the Bucket team-a/b1 whose field refers to the object of team-b. */
function referring(field: string, name = "reader", metadata: JsonObject = {}): JsonObject {
  const reference = { from: { namespace: "team-b", name } };
  return bucketObject(metadata, { spec: { [field]: field.endsWith("s") ? [reference] : reference } });
}

function resource(type: string, rest: JsonObject = {}): JsonObject {
  const [group = "", kind = ""] = type.split("/");
  const metadata = { namespace: "team-b", name: "reader" };
  return { apiVersion: `${group}.services.k8s.aws/v1alpha1`, kind, metadata, ...rest };
}

/** Returns what ACK-37 calls the object to which a field refers. */
function targets(field: string, ...known: readonly JsonObject[]): string[] {
  return findingsOf("ACK-37", referring(field), { known: [TEAM_B, ...known] })
    .map(({ message }) => message.replace(/^.* gets the ARN or ID of /, ""));
}

const UNKNOWN = '"reader" in namespace "team-b"';

test("ACK-37 names the resource whose ARN crosses namespaces, and its account", (t) => {
  t.same(linesOf("ACK-37", referring("roleRef"), { known: [TEAM_B, resource("iam/Role")] }), [
    'warn ACK-37 spec.roleRef.from.namespace: the resource in namespace "team-a" gets the ARN or ID of Role '
    + "team-b/reader in account 444455556666. Move one of the resources, or set its ARN or ID; "
    + `${FOR_NOW}.`,
  ]);
  const existing = { status: { ackResourceMetadata: { ownerAccountID: "999999999999" } } };
  t.same(targets("roleRef", resource("iam/Role", existing)), ["Role team-b/reader in account 999999999999"]);
  t.same(findingsOf("ACK-37", referring("roleRef"), { known: [resource("iam/Role")] })[0]?.message.split(" of ").at(-1),
    "Role team-b/reader", "the account of the controller's own role is not known");
  t.end();
});

test("ACK-37 proposes the resource of the same name in the own namespace", (t) => {
  const own = {
    apiVersion: "iam.services.k8s.aws/v1alpha1", kind: "Role", metadata: { name: "reader", namespace: "team-a" },
  };
  const [finding] = findingsOf("ACK-37", referring("roleRef"), { known: [TEAM_B, own] });
  t.match(finding?.repairs, [{ edits: [{ path: ["spec", "roleRef", "from", "namespace"], value: "team-a" }] }]);
  t.end();
});

test("ACK-37 takes the kind from the name of the field", (t) => {
  t.same(targets("roleRef"), [UNKNOWN], "not stored");
  t.same(targets("roleRef", resource("kms/Key")), [UNKNOWN], "another kind");
  t.match(targets("vpcSecurityGroupRefs", resource("ec2/SecurityGroup"), resource("iam/Group")), [/^SecurityGroup /]);
  t.match(targets("kmsKeyRef", resource("kms/Key")), [/^Key /]);
  t.same(targets("clusterRef", resource("ecs/Cluster"), resource("eks/Cluster")), [UNKNOWN], "ambiguous");
  t.end();
});

test("ACK-38 names the Secret that a controller reads or writes for the author of a resource", (t) => {
  const secret = { namespace: "team-b", name: "db", key: "password" };
  const prefix = 'for the resource in namespace "team-a", the controller';
  t.same(linesOf("ACK-38", bucketObject({}, { spec: { users: [{ password: secret }], exportTo: secret } })), [
    `warn ACK-38 spec.exportTo.namespace: ${prefix} writes Secret "team-b/db". Name a Secret in the `
    + "namespace of the resource.",
    `warn ACK-38 spec.users[0].password.namespace: ${prefix} reads Secret "team-b/db". Copy the `
    + `Secret into the namespace of the resource; ${FOR_NOW}.`,
  ]);
  t.same(linesOf("ACK-38", referring("roleRef")), [], "a reference is no Secret");
  t.end();
});

test("ACK-39 denies a Secret of a namespace of controllers, of the webhook or of Kubernetes", (t) => {
  const settings = { installationNamespaces: ["resolver"], identitySecretNamespace: "capa-system" };
  const lines = (field: string, namespace: string): string[] => (
    linesOf("ACK-39", bucketObject({}, { spec: { [field]: { namespace, name: "s", key: "k" } } }), { settings })
  );
  for (const [namespace, owner] of [
    ["capa-system", "Cluster API"], ["resolver", "this webhook"], ["ack-system", "ACK controllers"],
    ["kube-system", "Kubernetes"],
  ] as const) {
    t.same(lines("secretString", namespace), [
      `deny ACK-39 spec.secretString.namespace: the controller would read Secret "${namespace}/s", whose namespace `
        + `belongs to ${owner}. Name a Secret in the namespace of the resource.`,
    ]);
  }
  t.match(lines("exportTo", "capa-system"), [/the controller would write Secret "capa-system\/s", whose/]);
  t.same(lines("secretString", "team-b"), [], "ACK-38 warns");
  const reading = (name: string): JsonObject => (
    bucketObject({}, { spec: { secretString: { namespace: "capa-system", name, key: "k" } } })
  );
  t.match(linesOf("ACK-39", reading("b"), { settings, old: reading("a") }), [/^deny /], "another Secret is new");
  t.same(linesOf("ACK-39", referring("roleRef", "a"), { settings: { installationNamespaces: ["team-b"] } }), []);
  t.end();
});

test("profile strict denies new crossings, but not a stored one, which may have moved in a list", (t) => {
  const old = referring("subnetRefs");
  t.match(linesOf("ACK-37", old, STRICT), [/^deny /]);
  t.match(linesOf("ACK-37", withWaiver(old, "ACK-37"), STRICT), [/^warn \(waived\) /]);
  t.match(linesOf("ACK-37", referring("subnetRefs", "reader", { labels: { a: "b" } }), { ...STRICT, old }), [/^warn /]);
  const own = { from: { name: "own" } };
  const moved = { ...old, spec: { subnetRefs: [own, { from: { namespace: "team-b", name: "reader" } }] } };
  t.match(linesOf("ACK-37", moved, { ...STRICT, old }), [/^warn .*subnetRefs\[1\]/]);
  t.match(linesOf("ACK-37", referring("subnetRefs", "other"), { ...STRICT, old }), [/^deny /]);
  t.same(linesOf("ACK-37", old, { ...STRICT, operation: "DELETE" }), []);
  t.end();
});

test("a template whose namespace is open crosses none", (t) => {
  const codes = (metadata: JsonObject, open = "metadata.name"): string[] => {
    const isOpen = (path: FieldPath): boolean => formatFieldPath(path) === open;
    const object = { ...fieldExport("e", "", { kind: "secret", namespace: "team-b", name: "s" }), metadata };
    const template = { isRepeated: true, isOpen };
    const input = { object, old: null, requester: null, origin: "file", template } as const;
    return runChecks(input, SETTINGS_BY_DEFAULT).findings.map(({ code }) => code);
  };
  t.same(codes({ name: "e" }), [], "that of the object that contains the template");
  t.same(codes({ name: "e", namespace: "${schema.metadata.namespace}" }), []);
  t.same(codes({ name: "e", namespace: "team-a" }), ["FE-03"]);
  t.same(codes({ name: "e", namespace: "team-a" }, "metadata.namespace"), [], "a patch sets it");
  t.end();
});
