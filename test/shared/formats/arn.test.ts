import * as fc from "fast-check";
import { test } from "tap";
import {
  accountOfARN, isRegion, parseARN, partitionOfRegion, roleARNFaults, sessionARN,
} from "../../../shared/formats/arn.ts";
import { ROLE } from "../objects.ts";

test("returns the ARN of a session without the path of its role", (t) => {
  const role = "arn:aws-cn:iam::111122223333:role/teams/a/deploy";
  t.equal(sessionARN(role, "ack"), "arn:aws-cn:sts::111122223333:assumed-role/deploy/ack");
  t.equal(sessionARN("no ARN", "ack"), "arn::sts:::assumed-role/no ARN/ack");
  t.end();
});

// These cases are copied from the tests of aws-sdk-go-v2.
test("parses any text with the prefix arn: and six parts, and preserves colons in the last part", (t) => {
  t.same(parseARN("arn:aws:ecr:us-west-2:123456789012:repository/foo:bar:baz"), {
    partition: "aws",
    service: "ecr",
    region: "us-west-2",
    accountID: "123456789012",
    resource: "repository/foo:bar:baz",
  });
  t.same(parseARN("arn:::::"), { partition: "", service: "", region: "", accountID: "", resource: "" });
  for (const text of [
    "",
    "arn",
    "arn:",
    "arn:a",
    "arn:a:b",
    "arn:a:b:c",
    "arn:a:b:c:d",
    "ARN:a:b:c:d:e",
    "something:a:b:c:d:e",
    " arn:a:b:c:d:e",
  ])
    t.equal(parseARN(text), null, text);
  t.end();
});

test("returns the account of an ARN, or null if the ARN has no account", (t) => {
  t.same([ROLE, "arn:aws:s3:::bucket", "typo", ""].map(accountOfARN), ["111122223333", null, null, null]);
  t.end();
});

test("finds the account of exactly the texts that are ARNs", (t) => {
  const text = fc.array(fc.constantFrom("arn", ":", "::", "aws", "1", "\n", " ", "é")).map((parts) => parts.join(""));
  fc.assert(fc.property(text, (rest) => {
    const arn = `arn:${rest}`;
    t.equal(accountOfARN(arn) ?? "", parseARN(arn)?.accountID ?? "", { arn });
    t.equal(accountOfARN(rest) ?? "", parseARN(rest)?.accountID ?? "", { rest });
  }));
  t.end();
});

test("reports no fault for a valid role ARN", (t) => {
  const arn = parseARN(ROLE);
  t.ok(arn);
  t.same(arn === null ? null : roleARNFaults(ROLE, arn), []);
  t.end();
});

test("returns the partition of a region", (t) => {
  const partitions = {
    "eu-west-1": "aws", "us-east-1": "aws", "cn-northwest-1": "aws-cn", "us-gov-west-1": "aws-us-gov",
    "us-iso-east-1": "aws-iso", "us-isob-east-1": "aws-iso-b", "eu-isoe-west-1": "aws-iso-e",
    "us-isof-south-1": "aws-iso-f", "eusc-de-east-1": "aws-eusc", "new-north-1": null,
  };
  for (const [region, partition] of Object.entries(partitions)) {
    t.ok(isRegion(region), region);
    t.equal(partitionOfRegion(region), partition, region);
  }
  t.end();
});
