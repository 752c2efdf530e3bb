import { test } from "tap";
import { contextOf } from "../../../../../shared/decisions/checks/change.ts";
import type { Fault } from "../../../../../shared/decisions/checks/check.ts";
import { resourceChange } from "../../../../../shared/decisions/checks/resources/change.ts";
import { ACK_16 } from "../../../../../shared/decisions/checks/resources/references.ts";
import { Inventory } from "../../../../../shared/decisions/inventory/inventory.ts";
import type { JsonObject } from "../../../../../shared/decisions/kubernetes/json.ts";
import { drain, type Paced } from "../../../../../shared/decisions/paced.ts";
import { put, SETTINGS_BY_DEFAULT } from "../../objects.ts";
import { CLUSTER_OBJECTS, findingLines, tiered } from "../resource-lines.ts";

const FIX = "Refer to the account and partition of the role, unless a policy in the other account allows the access.";
const withSpec = (spec: unknown, object = tiered("gold")): JsonObject => ({ ...object, spec });

test("ACK-16 warns about an ARN in another account or partition in any field of the spec", (t) => {
  const key = "arn:aws:kms:eu-west-1:444455556666:key/1";
  const topic = "arn:aws-cn:sns:cn-north-1:444455556666:t";
  const spec = { encryption: { rules: [{ key }] }, topic };
  const role = 'but the role "arn:aws:iam::111122223333:role/gold" is not';
  t.same(findingLines("ACK-16", withSpec(spec)), [
    `warn ACK-16 spec.encryption.rules[0].key: "${key}" is in account 444455556666, ${role}. ${FIX}`,
    `warn ACK-16 spec.topic: "${topic}" is in partition "aws-cn" and account 444455556666, ${role}. ${FIX}`,
  ]);
  const allowed = {
    key: "arn:aws:kms:eu-west-1:111122223333:key/1", policy: "arn:aws:iam::aws:policy/ReadOnlyAccess",
    bucket: "arn:aws:s3:::b", text: "an arn:aws:x", n: 1, no: null,
  };
  t.same(findingLines("ACK-16", withSpec(allowed)), []);
  t.same(findingLines("ACK-16", withSpec(spec, tiered())), [], "the controller's role is unknown");
  t.same(findingLines("ACK-16", tiered("gold")), [], "no spec");
  t.end();
});

test("ACK-16 warns about a region in another partition if the field is a region field", (t) => {
  const line = (path: string, region: string, partition: string): string => (
    `warn ACK-16 ${path}: region "${region}" is in partition ${partition}, but the role is in partition "aws". ${FIX}`
  );
  const createBucketConfiguration = { locationConstraint: "cn-north-1" };
  const spec = { createBucketConfiguration, replicaRegions: ["us-gov-west-1", "eu-west-1"] };
  t.same(findingLines("ACK-16", withSpec(spec)), [
    line("spec.createBucketConfiguration.locationConstraint", "cn-north-1", "aws-cn"),
    line("spec.replicaRegions[0]", "us-gov-west-1", "aws-us-gov"),
  ]);
  t.same(findingLines("ACK-16", withSpec({ name: "cn-north-1", region: "China" })), []);
  t.end();
});

test("ACK-16 pauses during the scan of a long spec, and scans a deeply nested spec", (t) => {
  const inventory = new Inventory({ runtime: "ack", origin: "cluster" });
  inventory.apply(CLUSTER_OBJECTS.map(put));
  const scan = (spec: unknown): Paced<readonly Fault[]> => {
    const input = { object: withSpec(spec), old: null, requester: null, origin: "cluster" } as const;
    return ACK_16.scan(resourceChange(input, contextOf(input, SETTINGS_BY_DEFAULT, inventory)));
  };
  const list = Array.from({ length: 1_001 }, () => "x");
  t.same([...scan({ list })], [500, 1_000], "the scan pauses after each 500 values");
  let deep: unknown = "arn:aws:kms:eu-west-1:444455556666:key/1";
  for (let i = 0; i < 10_000; i++) deep = [deep];
  t.match(drain(scan({ deep })), [{ message: /is in account 444455556666/ }]);
  t.end();
});
