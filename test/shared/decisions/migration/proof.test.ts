import { test } from "tap";
import { Inventory } from "../../../../shared/decisions/inventory/inventory.ts";
import type { JsonObject } from "../../../../shared/decisions/kubernetes/json.ts";
import { proveSelectors } from "../../../../shared/decisions/migration/proof.ts";
import { drain } from "../../../../shared/decisions/paced.ts";
import { bucketObject, namespaceObject, put, selectorObject, SETTINGS_BY_DEFAULT } from "../objects.ts";
import { A, B, bucketIn, mapObject, migrated, ownedNamespace } from "./carm-objects.ts";

const REFUSED = { outcome: "refused", via: "account-map", roleARN: null };
const DEFAULT = { outcome: "default", via: null, roleARN: null, code: null };
const FALLS = "a stop would become the controller's own account";
const GIVE = "give the key its role in the map, or take the annotation off the namespace where the controller's own role is meant, and run this again";
const MEND = "write the role's ARN into the map as IAM shows it, arn:aws:iam::ACCOUNT:role/NAME, and run this again";

test("what is refused for want of a key stays no secret: it would be in the controller's hands", (t) => {
  const { proof } = migrated([mapObject("account", { "444455556666": B }), ownedNamespace("a", "111122223333"), bucketObject({ namespace: "a" })]);
  t.same(proof.differences, [{
    namespace: "a", groups: ["*"], resources: [{ apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", namespace: "a", name: "b1" }],
    before: { ...REFUSED, code: "ERR_CARM_KEY_MISSING" }, after: DEFAULT,
    message: `every resource in namespace "a": refused before, the controller's own role after: ${FALLS} (ConfigMap ack-system/ack-role-account-map has no key 111122223333)`,
    fix: GIVE,
  }]);
  t.end();
});

test("each refusal of the maps is one, the team's without a fall-back to the account too", (t) => {
  const team = { teamLevelCARM: true } as const;
  const both = ownedNamespace("a", "111122223333", "blue");
  const first = (objects: readonly JsonObject[]): unknown => migrated(objects, team).proof.differences.map(({ before: { code }, message, fix }) => [code, message.slice(message.indexOf("(")), fix]);
  const accounts = mapObject("account", { "111122223333": A, "blue": A });
  t.same(first([both, accounts, mapObject("team", { green: B })]), [["ERR_CARM_KEY_MISSING", "(ConfigMap ack-system/ack-role-team-map has no key blue)", GIVE]]);
  t.same(first([both, accounts, mapObject("team", { blue: "" })]), [["ERR_CARM_VALUE_EMPTY", "(ConfigMap ack-system/ack-role-team-map has no role under the key blue)", GIVE]]);
  t.same(first([both, accounts, mapObject("team", { blue: "role/x" })]), [["ERR_CARM_ARN", "(ConfigMap ack-system/ack-role-team-map has no role's ARN under the key blue)", GIVE]]);
  t.match(first([both, accounts]), [["ERR_CARM_MAP_MISSING", "(ConfigMap ack-system/ack-role-team-map is not there, so blue has no role)", /^add the map to the input, name its namespace with --ack-system-namespace/]]);
  t.same(first([both, accounts, mapObject("team", { blue: B })]), []);
  t.end();
});

test("under a service's key alone the other groups are refused, and only they differ", (t) => {
  const { proof } = migrated([mapObject("account", { "s3.blue": A }), ownedNamespace("a", "blue")], { serviceLevelCARM: true });
  const [difference] = proof.differences;
  t.notOk(difference?.groups.includes("s3.services.k8s.aws"));
  t.match(difference?.message, /^resources of acm\.services\.k8s\.aws, acmpca\.services\.k8s\.aws, apigateway\.services\.k8s\.aws and \d+ more in namespace "a": refused before/);
  t.same([proof.differences.length, proof.unknownGroups], [1, []], "a group that nobody knows is refused as they are");
  t.end();
});

test("a role that no selector may name is no role after", (t) => {
  const { proof } = migrated([mapObject("account", { blue: "arn:aws:iam::111122223333:root" }), ownedNamespace("a", "blue")]);
  t.match(proof.differences, [{
    groups: ["*"], before: { outcome: "selected", roleARN: "arn:aws:iam::111122223333:root" }, after: DEFAULT,
    message: 'every resource in namespace "a": "arn:aws:iam::111122223333:root" before, the controller\'s own role after: that is not the ARN of an IAM role, so no selector may name it', fix: MEND,
  }]);
  t.end();
});

test("a namespace that no cluster can have is not named", (t) => {
  const { proof } = migrated([mapObject("account", { blue: A }), ownedNamespace("No_Name", "blue")]);
  t.match(proof.differences, [{ namespace: "No_Name", message: /no namespace can have that name, so no selector may name it$/, fix: "give the Namespace the name that it has in the cluster, and run this again" }]);
  t.end();
});

test("a resource that is found by its account alone differs by itself, unless the account is the controllers'", (t) => {
  const objects = [mapObject("account", { "111122223333": A }), namespaceObject("a"), bucketIn("a", "111122223333"), bucketIn("a", "111122223333", "b2"), bucketIn("a", "444455556666", "b3"), bucketObject({ namespace: "a", name: "b4" })];
  const { proof } = migrated(objects);
  t.match(proof, { resources: 4, differences: [
    {
      namespace: "a", groups: [], resources: [{ name: "b1" }, { name: "b2" }], before: { outcome: "selected", roleARN: A }, after: DEFAULT,
      message: `Bucket "b1" and Bucket "b2" in namespace "a": "${A}" before, the controller's own role after: found by status.ackResourceMetadata.ownerAccountID "111122223333" alone, which no selector reads`,
    },
    {
      resources: [{ name: "b3" }], before: { outcome: "refused" },
      message: 'Bucket "b3" in namespace "a": refused before, the controller\'s own role after: found by status.ackResourceMetadata.ownerAccountID "444455556666" alone, which no selector reads (ConfigMap ack-system/ack-role-account-map has no key 444455556666)',
    },
  ] });
  t.equal(migrated(objects, { controllerAccount: "444455556666" }).proof.differences.length, 1);
  t.same(migrated([...objects.slice(0, 1), ownedNamespace("a", "111122223333"), ...objects.slice(2)]).proof.differences, [], "an annotated namespace decides for all");
  t.end();
});

test("selectors that are not the right ones are caught: another role, an overlap, a namespace left out or too many", (t) => {
  const prove = (...specs: readonly JsonObject[]): unknown => {
    const inventory = new Inventory({ runtime: "ack", origin: "file" });
    inventory.apply([mapObject("account", { blue: A }), ownedNamespace("a", "blue"), namespaceObject("b"), ...specs.map((spec, i) => selectorObject(`s${i}`, spec))].map(put));
    return drain(proveSelectors({ inventory, settings: SETTINGS_BY_DEFAULT, groups: ["s3.services.k8s.aws"] })).differences.map(({ message, fix }) => [message, fix]);
  };
  const names = (...list: readonly string[]): JsonObject => ({ namespaceSelector: { names: list } });
  const fix = "apply the selectors that `migrate carm` prints, and no others";
  t.same(prove({ arn: A, ...names("a") }), []);
  t.same(prove({ arn: B, ...names("a") }), [[`every resource in namespace "a": "${A}" before, "${B}" after: the selectors do not follow the maps`, fix]]);
  t.same(prove({ arn: A, ...names("a") }, { arn: A, ...names("a") }), [[`every resource in namespace "a": "${A}" before, conflict after: the selectors do not follow the maps`, fix]]);
  t.same(prove({ arn: A, ...names("a", "b") }), [[`every resource in namespace "b": the controller's own role before, "${A}" after: the selectors do not follow the maps`, fix]]);
  t.match(prove(), [[/: no selector selects it$/, /./]]);
  t.match(prove({ arn: A }), [[/^every resource in namespace "b"/], [/^every resource in namespace "no-such-namespace"/]], "and a namespace that is not there counts");
  t.end();
});

test("the namespace that is not there is one that is not", (t) => {
  const { proof } = migrated([namespaceObject("no-such-namespace"), bucketObject({ namespace: "no-such-namespace-x" }), mapObject("account", { blue: A }), ownedNamespace("no-such-namespace-x-x", "blue")]);
  t.same(proof.differences, []);
  t.end();
});
