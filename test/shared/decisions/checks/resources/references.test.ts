import { test } from "tap";
import { contextOf } from "../../../../../shared/decisions/checks/change.ts";
import type { Fault } from "../../../../../shared/decisions/checks/check.ts";
import { resourceChange } from "../../../../../shared/decisions/checks/resources/change.ts";
import { ACK_16 } from "../../../../../shared/decisions/checks/resources/references.ts";
import { Inventory } from "../../../../../shared/decisions/inventory/inventory.ts";
import type { JsonObject } from "../../../../../shared/decisions/kubernetes/json.ts";
import { drain, type Paced } from "../../../../../shared/decisions/paced.ts";
import { put, SETTINGS_BY_DEFAULT } from "../../objects.ts";
import { COMPANY, lines, tiered } from "../resource-lines.ts";

const FIX = "Name something of the resource's own account and partition, unless the other side allows it.";
const withSpec = (spec: unknown, object = tiered("gold")): JsonObject => ({ ...object, spec });

test("ACK-16 warns of an ARN of another account or partition, wherever it stands", (t) => {
  const spec = { encryption: { rules: [{ key: "arn:aws:kms:eu-west-1:444455556666:key/1" }] }, topic: "arn:aws-cn:sns:cn-north-1:444455556666:t" };
  t.same(lines("ACK-16", withSpec(spec)), [
    `warn ACK-16 spec.encryption.rules[0].key: "arn:aws:kms:eu-west-1:444455556666:key/1" is of account 444455556666, and its role "arn:aws:iam::111122223333:role/gold" is not. ${FIX}`,
    `warn ACK-16 spec.topic: "arn:aws-cn:sns:cn-north-1:444455556666:t" is of partition "aws-cn" and account 444455556666, and its role "arn:aws:iam::111122223333:role/gold" is not. ${FIX}`,
  ]);
  const own = { key: "arn:aws:kms:eu-west-1:111122223333:key/1", policy: "arn:aws:iam::aws:policy/ReadOnlyAccess", bucket: "arn:aws:s3:::b", text: "an arn:aws:x", n: 1, no: null };
  t.same(lines("ACK-16", withSpec(own)), []);
  t.same(lines("ACK-16", withSpec(spec, tiered())), [], "whose role it is is not known");
  t.same(lines("ACK-16", tiered("gold")), [], "no spec");
  t.end();
});

test("ACK-16 warns of a region of another partition, in a field that holds one", (t) => {
  t.same(lines("ACK-16", withSpec({ createBucketConfiguration: { locationConstraint: "cn-north-1" }, replicaRegions: ["us-gov-west-1", "eu-west-1"] })), [
    `warn ACK-16 spec.createBucketConfiguration.locationConstraint: "cn-north-1" is in the partition aws-cn, and its role in "aws". ${FIX}`,
    `warn ACK-16 spec.replicaRegions[0]: "us-gov-west-1" is in the partition aws-us-gov, and its role in "aws". ${FIX}`,
  ]);
  t.same(lines("ACK-16", withSpec({ name: "cn-north-1", region: "China" })), []);
  t.end();
});

test("ACK-16 can be put off in a long spec, and takes one nested as deep as it may be", (t) => {
  const inventory = new Inventory({ runtime: "ack", origin: "cluster" });
  inventory.apply(COMPANY.map(put));
  const scan = (spec: unknown): Paced<readonly Fault[]> => {
    const input = { object: withSpec(spec), old: null, requester: null, origin: "cluster" } as const;
    return ACK_16.scan(resourceChange(input, contextOf(input, SETTINGS_BY_DEFAULT, inventory)));
  };
  t.same([...scan({ list: Array.from({ length: 10_001 }, () => "x") })], [5_000, 10_000], "pauses after each 5,000 values");
  let deep: unknown = "arn:aws:kms:eu-west-1:444455556666:key/1";
  for (let i = 0; i < 10_000; i++) deep = [deep];
  t.match(drain(scan({ deep })), [{ message: /is of account 444455556666/ }]);
  t.end();
});
