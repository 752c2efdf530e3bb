import { test } from "tap";
import { ROLE } from "../../objects.ts";
import { specLines } from "../findings.ts";

const FIX = "Write the role's ARN as IAM shows it: arn:aws:iam::ACCOUNT:role/NAME.";
const CHECKS = ["IRS-01", "IRS-02", "IRS-03"];
const linesOf = (arn: unknown): string[] => CHECKS.flatMap((id) => specLines(id, { arn }));

test("IRS-01: reports one finding for a missing or empty role ARN", (t) => {
  const missing = [`IRS-01 spec.arn: the role is missing. ${FIX}`];
  t.same(CHECKS.flatMap((id) => specLines(id, undefined)), missing, "without a spec");
  t.same(CHECKS.flatMap((id) => specLines(id, null)), missing, "with a null spec");
  t.same(CHECKS.flatMap((id) => specLines(id, {})), missing, "with an empty spec");
  t.same(linesOf(null), missing, "with a null role");
  t.same(linesOf(""), [`IRS-01 spec.arn: the role is empty. ${FIX}`]);
  t.same(linesOf(ROLE), []);
  t.end();
});

test("IRS-02: denies a role that controllers cannot parse as an ARN", (t) => {
  t.same(linesOf("not-an-arn"), [`IRS-02 spec.arn: "not-an-arn" is not an ARN: it does not start with arn:. ${FIX}`]);
  t.same(linesOf(` ${ROLE}`), [`IRS-02 spec.arn: " ${ROLE}" is not an ARN: it does not start with arn:. ${FIX}`]);
  t.same(linesOf("arn:aws:iam::111122223333"), [
    `IRS-02 spec.arn: "arn:aws:iam::111122223333" is not an ARN: it has fewer than six parts separated by ':'. ${FIX}`,
  ]);
  t.same(specLines("IRS-02", { arn: "arn:::::" }), []);
  t.end();
});

test("IRS-03: denies an ARN that is not a role ARN, and reports each of its faults", (t) => {
  const rows: readonly (readonly [arn: string, faults: string])[] = [
    ["arn:aws:iam::111122223333:user/jane", 'its resource is "user/jane", not role/NAME'],
    ["arn:aws:iam::111122223333:root", 'its resource is "root", not role/NAME'],
    ["arn:aws:iam::111122223333:Role/x", 'its resource is "Role/x", not role/NAME'],
    [
      "arn:aws:sts::111122223333:assumed-role/x/y",
      'its service is "sts", not iam; its resource is "assumed-role/x/y", not role/NAME',
    ],
    ["arn:aws:iam:eu-west-1:111122223333:role/x", 'its region is "eu-west-1", but IAM ARNs have no region'],
    ["arn:aws:iam::11112222333:role/x", 'its account is "11112222333", not 12 digits'],
    ["arn:aws:iam::1111222233334:role/x", 'its account is "1111222233334", not 12 digits'],
    ["arn:awsome:iam::111122223333:role/x", 'its partition is "awsome", not aws, aws-cn, aws-us-gov or another aws-*'],
    ["arn:aws:iam::111122223333:role/", 'its role name "" is not 1 to 64 letters, digits or _+=,.@-'],
    ["arn:aws:iam::111122223333:role/a b", 'its role name "a b" is not 1 to 64 letters, digits or _+=,.@-'],
    ["arn:aws:iam::111122223333:role/é", 'its role name "é" is not 1 to 64 letters, digits or _+=,.@-'],
    ["arn:aws:iam::111122223333:role//x", 'its role path "//" is not / or printable ASCII between slashes'],
    ["arn:aws:iam::111122223333:role/a b/x", 'its role path "/a b/" is not / or printable ASCII between slashes'],
    ["arn:aws:iam::111122223333:role/x\n", 'its role name "x\\n" is not 1 to 64 letters, digits or _+=,.@-'],
    [
      "arn:::::",
      'its partition is "", not aws, aws-cn, aws-us-gov or another aws-*; its service is "", not iam; its account is '
        + '"", not 12 digits; ' +
        'its resource is "", not role/NAME; it has 8 characters, not 20 to 2048',
    ],
  ];
  for (const [arn, faults] of rows)
    t.same(linesOf(arn), [`IRS-03 spec.arn: ${JSON.stringify(arn)} is not the ARN of an IAM role: ${faults}. ${FIX}`]);
  for (const arn of [
    "arn:aws-cn:iam::111122223333:role/x",
    "arn:aws-us-gov:iam::111122223333:role/x",
    "arn:aws-iso-b:iam::000000000000:role/x",
    "arn:aws:iam::111122223333:role/a/b/c",
    "arn:aws:iam::111122223333:role/!a:b~/_+=,.@-",
    "arn:aws:iam::111122223333:role///x",
  ])
    t.same(linesOf(arn), [], arn);
  t.end();
});

test("IRS-03: allows a path, a name and an ARN of the maximum length, and denies longer values", (t) => {
  const name = (length: number): string => `arn:aws:iam::111122223333:role/${"n".repeat(length)}`;
  t.same(linesOf(name(64)), []);
  t.match(linesOf(name(65)), [/ is not 1 to 64 letters, digits or _\+=,\.@-\. /]);
  const path = (length: number): string => `arn:aws:iam::111122223333:role/${"p".repeat(length - 2)}/x`;
  t.same(linesOf(path(512)), []);
  t.match(linesOf(path(513)), [/ is not the ARN of an IAM role: its role path has 513 characters, not at most 512\. /]);
  const partition = (length: number): string =>
    `arn:aws-${"p".repeat(length - "arn:aws-:iam::111122223333:role/x".length)}:iam::111122223333:role/x`;
  t.same(linesOf(partition(2048)), []);
  t.match(linesOf(partition(2049)), [
    /… \(2049 characters\) is not the ARN of an IAM role: it has 2049 characters, not 20 to 2048\. /,
  ]);
  t.end();
});

test("IRS-03: warns about a role that only AWS can assume", (t) => {
  const arnOf = (resource: string): string => `arn:aws:iam::111122223333:role/${resource}`;
  const of = (resource: string): string[] => specLines("IRS-03", { arn: arnOf(resource) });
  const fix = "Create your own role whose trust policy names the controller's role.";
  t.same(of("aws-service-role/s3.amazonaws.com/AWSServiceRoleForS3"), [
    `IRS-03 spec.arn: "arn:aws:iam::111122223333:role/aws-service-role/s3.amazonaws.com/AWSServiceRoleForS3" is a `
      + `service-linked role, which only AWS can assume. ${fix}`,
  ]);
  t.same(of("aws-reserved/sso.amazonaws.com/AWSReservedSSO_Admin_0123456789abcdef"), [
    "IRS-03 spec.arn: "
      + `"arn:aws:iam::111122223333:role/aws-reserved/sso.amazonaws.com/AWSReservedSSO_Admin_0123456789abcdef" is a `
      + `role that AWS reserves, which only AWS can assume. ${fix}`,
  ]);
  for (const resource of ["service-role/lambda", "aws-service-role", "team/aws-reserved/x"]) t.same(of(resource), []);
  t.same(specLines("IRS-03", {}), []);
  t.end();
});
