import type { Problem } from "../../../shared/core/problem.ts";
import { SECRETS } from "../../../shared/capa/secrets.ts";
import { test } from "tap";
import type { Inventory } from "../../../shared/core/inventory.ts";
import { resourceOf } from "../../../shared/core/ack-resource.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { drain } from "../../../shared/formats/paced.ts";
import {
  objectFindings, objectProblems, staleProblem, storeProblems,
} from "../../../shared/diagnosis/problems.ts";
import { resolve } from "../../../shared/core/resolve.ts";
import { type ResourceScope, scanResources } from "../../../shared/diagnosis/stale-resources.ts";
import { clusterObject, controllerIdentity, roleIdentity, staticIdentity } from "../capa-objects.ts";
import { managedBy, secretMetadata } from "../capa-secrets.ts";
import {
  bucketObject, inventoryWith, kindObject, namespaceObject, ROLE, selectorObject, SETTINGS_BY_DEFAULT,
} from "../objects.ts";

const S3 = "s3.services.k8s.aws";
const VERSIONS = [{ name: "v1alpha1", served: true, storage: true }];

function inventoryOf(objects: readonly JsonObject[], runtime: "ack" | "extended" = "ack"): Inventory {
  return inventoryWith([namespaceObject("team-a"), kindObject("Bucket", S3, VERSIONS), ...objects], { runtime });
}

function selector(name: string, changes: JsonObject = {}, metadata: JsonObject = {}): JsonObject {
  const spec = { arn: ROLE, namespaceSelector: { names: ["team-a"] }, ...changes };
  return selectorObject(name, spec, { uid: `uid-${name}`, ...metadata });
}

function ofResources(objects: readonly JsonObject[], settings: Partial<ResourceScope["settings"]> = {}): Problem[] {
  const scope = {
    inventory: inventoryOf(objects), settings: { ...SETTINGS_BY_DEFAULT, ...settings },
  };
  const problems: Problem[] = [];
  drain(scanResources(scope, (state) => problems.push(...objectProblems(state, scope)) >= 0));
  return problems;
}

function ofCluster(
  inventory: Inventory, extraGroups: readonly string[] = [], settings: Partial<ResourceScope["settings"]> = {},
): Problem[] {
  const problems: Problem[] = [];
  const injection = { ...SETTINGS_BY_DEFAULT.injection, extraGroups };
  const scope = { inventory, settings: { ...SETTINGS_BY_DEFAULT, injection, ...settings } };
  drain(storeProblems(scope, (problem) => problems.push(problem)));
  return problems;
}

const BUCKET = bucketObject({ name: "b1", uid: "uid-b1" });

test("reports a conflict of a resource with the selectors and the fix", (t) => {
  const [problem, ...others] = ofResources([BUCKET, selector("gold"), selector("silver")]);
  t.same(others, []);
  t.same(problem, {
    subject: { apiVersion: `${S3}/v1alpha1`, kind: "Bucket", namespace: "team-a", name: "b1", uid: "uid-b1" },
    reason: "SelectorConflict",
    note: "Cannot determine which IAMRoleSelector to use. Conflicting IAMRoleSelectors: [gold, silver]; controllers do "
      + "not reconcile the resource. Restrict or delete selectors until only one selects the resource.",
  });
  t.end();
});

test("reports the default role and a drift, unless the check is off", (t) => {
  const reasons = (problems: readonly Problem[]): string[] => problems.map(({ reason }) => reason);
  t.same(reasons(ofResources([BUCKET])), ["DefaultRole"]);
  t.same(ofResources([BUCKET], { checkSeverities: new Map([["ACK-05", "off"]]) }), []);
  t.same(ofResources([BUCKET, selector("gold")]), []);
  const moved = { ...BUCKET, status: { ackResourceMetadata: { ownerAccountID: "444455556666" } } };
  t.same(reasons(ofResources([moved, selector("gold")])), ["RoleDrift"]);
  const both = { ...BUCKET, status: { ackResourceMetadata: { ownerAccountID: "444455556666", region: "us-east-1" } } };
  t.match(ofResources([both, selector("gold")], { region: "eu-west-1" }), [{ reason: "RoleDrift", note: /account/ }],
    "one Event for each reason");
  const refused = [BUCKET, namespaceObject("team-a", {}, { "services.k8s.aws/owner-account-id": "111122223333" })];
  t.same(reasons(ofResources(refused, { mode: "carm" })), ["RoleUnresolved"]);
  t.end();
});

test("finds the faults of a stored resource with the severities of `audit`", (t) => {
  const scope = (severity: "deny" | "warn" | "off"): ResourceScope => ({
    inventory: inventoryOf([BUCKET, selector("gold"), selector("silver")]),
    settings: { ...SETTINGS_BY_DEFAULT, checkSeverities: new Map([["ACK-03", severity]]) },
  });
  const found = (of: ResourceScope): unknown => {
    const resource = resourceOf(BUCKET);
    const resolution = resolve(of.inventory, resource, of.settings);
    return objectFindings({ resource, resolution }, of).map(({ code, severity }) => `${code} ${severity}`);
  };
  t.same(found({ ...scope("off"), settings: SETTINGS_BY_DEFAULT }), ["ACK-03 deny"]);
  t.same(found(scope("warn")), ["ACK-03 warn"]);
  t.same(found(scope("off")), []);
  t.end();
});

test("reports annotations that cannot be updated, with the reason", (t) => {
  const resource = resourceOf(BUCKET);
  t.match(staleProblem(resource, "403"), { reason: "StaleAnnotations", note: /could not be updated: 403$/ });
  t.match(staleProblem({ ...resource, name: null }, "403"), { subject: { name: "" } });
  t.end();
});

test("reports malformed and faulty selectors with the first faults and their fixes", (t) => {
  const problems = ofCluster(inventoryOf([selector("typo", { arn: "not-an-arn" })]));
  const subject = { kind: "IAMRoleSelector", name: "typo", uid: "uid-typo" };
  t.match(problems, [{ reason: "MalformedSelector", subject }]);
  t.match(problems[0]?.note, /^Controllers ignore this selector\. IRS-\d+ spec\.arn: .*"not-an-arn".*\. [A-Z].*\.$/);
  const user = ofCluster(inventoryOf([selector("user", { arn: "arn:aws:iam::111122223333:user/a" })]));
  t.match(user, [{ reason: "FaultySelector", note: /^Sidecars grant no role of this selector\. IRS-\d+ spec\.arn: / }]);
  const names = ["A", "B", "C", "D", "E"];
  const many = ofCluster(inventoryOf([selector("many", { namespaceSelector: { names } })]));
  t.match(many[0]?.note, / 2 more: run `ack-role-resolver audit --cluster`\.$/);
  t.end();
});

test("an Event about an invalid external ID does not contain the ID", (t) => {
  const annotations = { "ack-role-resolver.io/external-id": "my secret id" };
  const [problem] = ofCluster(inventoryOf([selector("secret", {}, { annotations })]));
  t.match(problem?.note, /external-id\]: the value is not valid\. /);
  t.notMatch(problem?.note, "secret id");
  t.end();
});

test("reports a Secret that CAPA cannot use on the identity, unless the check is off", (t) => {
  const settings = { identitySecretNamespace: "capa-system" };
  const inventory = inventoryOf([staticIdentity("s"), secretMetadata([managedBy("kubectl", ["accessKeyID"])])]);
  t.match(ofCluster(inventory, [], settings), [{
    subject: { kind: "AWSClusterStaticIdentity", namespace: "", name: "s" }, reason: "UnusableSecret",
    note: "CAPA cannot use the Secret of this identity: the Secret capa-system/s-creds has the key \"accessKeyID\", "
      + "not AccessKeyID: the names are case-sensitive; the Secret capa-system/s-creds has no key SecretAccessKey. "
      + "Write the keys AccessKeyID and SecretAccessKey, and for a session SessionToken, to the Secret.",
  }]);
  t.same(ofCluster(inventory, [], { ...settings, checkSeverities: new Map([["CI-10", "off"]]) }), []);
  const { revision } = inventory.of(SECRETS);
  const repaired = secretMetadata([managedBy("kubectl", ["AccessKeyID", "SecretAccessKey"])]);
  inventory.apply([{ type: "put", object: repaired }]);
  t.same(ofCluster(inventory, [], settings), []);
  t.not(inventory.of(SECRETS).revision, revision, "a change of the keys makes a scan urgent");
  inventory.apply([{ type: "remove", group: "", kind: "Secret", namespace: "capa-system", name: "s-creds" }]);
  t.match(ofCluster(inventory, [], settings), [{ note: /s-creds does not exist\. Create the Secret/ }]);
  inventory.apply([{ type: "unlisted", store: SECRETS, item: "Secrets" }]);
  t.same(ofCluster(inventory, [], settings), [], "Secrets that are not listed are not missing");
  t.end();
});

test("reports both selectors of an overlap, also without resources, unless one replaces the other", (t) => {
  const overlap = ofCluster(inventoryOf([selector("gold"), selector("silver")]));
  t.match(overlap, [
    { reason: "SelectorsOverlap", subject: { name: "gold" }, note: /^The selector can select .* as silver, and / },
    { reason: "SelectorsOverlap", subject: { name: "silver" }, note: /^The selector can select .* as gold, and / },
  ]);
  const annotations = { "ack-role-resolver.io/replaces": "gold" };
  const replaced = ofCluster(inventoryOf([selector("gold"), selector("silver", {}, { annotations })]));
  t.same(replaced.map(({ subject }) => subject.name), []);
  t.same(ofCluster(inventoryOf([selector("gold"), selector("silver")], "extended")), []);
  t.end();
});

test("reports no overlap in namespaces that do not exist, because it can affect no resource", (t) => {
  const byLabel = { namespaceSelector: { labelSelector: { matchLabels: { team: "a" } } } };
  const gone = { namespaceSelector: { names: ["gone"] } };
  const both = { namespaceSelector: { names: ["gone", "team-a"] } };
  const overlaps = (...specs: readonly JsonObject[]): number => (
    ofCluster(inventoryOf(specs.map((spec, i) => selector(`s${i}`, spec)))).length
  );
  t.equal(overlaps(gone, gone), 0);
  t.equal(overlaps(gone, byLabel), 0);
  t.equal(overlaps(byLabel, gone), 0);
  t.equal(overlaps(both, gone), 0, "only one of them selects resources of team-a");
  t.equal(overlaps(both, both), 2);
  t.equal(overlaps(byLabel, byLabel), 2, "of any namespace, also of a new one");
  t.equal(ofCluster(inventoryOf([namespaceObject("gone"), selector("a", gone), selector("b", gone)])).length, 2);
  t.end();
});

test("reports the CRDs of unknown ACK groups, and a CRD of IAMRoleSelector that lacks fields", (t) => {
  const unknown = kindObject("Thing", "new.services.k8s.aws", VERSIONS);
  const other = kindObject("Other", "other.services.k8s.aws", VERSIONS);
  t.equal(ofCluster(inventoryOf([unknown, other])).length, 2, "each of them");
  t.match(ofCluster(inventoryOf([unknown])), [{
    reason: "UnknownACKGroup", subject: { kind: "CustomResourceDefinition", name: "things.new.services.k8s.aws" },
    note: /^This release does not know the ACK group of the kind\. Render the manifests .*--extra-groups/,
  }]);
  t.same(ofCluster(inventoryOf([unknown]), ["new.services.k8s.aws"]), []);
  const schema = { openAPIV3Schema: { type: "object", properties: { spec: { type: "object", properties: {} } } } };
  const narrow = kindObject("IAMRoleSelector", "services.k8s.aws", VERSIONS.map((version) => ({ ...version, schema })));
  const [problem] = ofCluster(inventoryOf([narrow]));
  t.match(problem, { reason: "SelectorFieldsPruned", note: /^The CRD does not define spec\.arn, which/ });
  t.end();
});

function ofClusters(reference: string | null, off: string | null = null): Problem[] {
  const cluster = { ...clusterObject("c", reference), metadata: { name: "c", namespace: "ns1", uid: "uid-c" } };
  const objects = [
    namespaceObject("ns1"), cluster, controllerIdentity(), roleIdentity("r"),
    roleIdentity("b", "controller", { list: [] }),
  ];
  return ofResources(objects, off === null ? {} : { checkSeverities: new Map([[off, "off"]]) });
}

test("reports no problem of a template, which uses no credentials", (t) => {
  const template = { ...clusterObject("c", "role/none"), kind: "AWSClusterTemplate" };
  t.same(ofResources([namespaceObject("ns1"), template, controllerIdentity()]), []);
  t.end();
});

test("reports a refused identity and the controller identity of a cluster, unless the check is off", (t) => {
  t.same(ofClusters("role/r"), []);
  t.same(ofClusters("role/b"), [{
    subject: {
      apiVersion: "infrastructure.cluster.x-k8s.io/v1beta2", kind: "AWSCluster", namespace: "ns1", name: "c",
      uid: "uid-c",
    },
    reason: "IdentityRefused",
    note: 'CAPA cannot use the identity of this object. AWSClusterRoleIdentity "b" does not allow the namespace "ns1": '
      + "allowedNamespaces contains no namespace: its list and its selector are empty. Add the namespace to "
      + "allowedNamespaces.list of the identity, or use another identity.",
  }]);
  t.match(ofClusters("role/none"), [{ reason: "IdentityRefused", note: /"none" does not exist\. Create the/ }]);
  t.match(ofClusters(null), [{
    reason: "DefaultIdentity", note: /so CAPA uses its own credentials\. Set identityRef to another identity, or/,
  }]);
  for (const [reference, check] of [
    ["role/b", "AC-02"], ["role/none", "AC-01"], ["Secret/a", "AC-00"], [null, "AC-03"],
  ] as const) {
    t.equal(ofClusters(reference, "AC-04").length, 1);
    t.same(ofClusters(reference, check), [], check);
  }
  t.end();
});
