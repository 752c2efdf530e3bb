import { ROLE } from "../objects.ts";
import { specLines } from "../core/findings.ts";
import { testRows } from "../rows.ts";

const FIX = "Write the role's ARN as IAM shows it: arn:aws:iam::ACCOUNT:role/NAME.";
const linesOf = (spec: unknown): string[] => specLines(["IRS-01", "IRS-02", "IRS-03"], spec);
const MISSING = `deny IRS-01 spec.arn: the role is missing. ${FIX}`;

testRows("IRS-01: reports one finding for a missing or empty role ARN", linesOf, [
  ["no spec", undefined, MISSING],
  ["a null spec", null, MISSING],
  ["an empty spec", {}, MISSING],
  ["a null role", { arn: null }, MISSING],
  ["an empty role", { arn: "" }, `deny IRS-01 spec.arn: the role is empty. ${FIX}`],
  ["a role", { arn: ROLE }],
]);

const notARN = (arn: string, why: string): string => `deny IRS-02 spec.arn: "${arn}" is not an ARN: ${why}. ${FIX}`;
testRows("IRS-02: denies a role that controllers cannot parse as an ARN", (arn: string) => linesOf({ arn }), [
  ["a word", "not-an-arn", notARN("not-an-arn", "it does not start with arn:")],
  ["blanks", ` ${ROLE} `, `deny IRS-02 spec.arn: " ${ROLE} " is not an ARN: it does not start with arn:. `
    + `Write "${ROLE}".`],
  ["one colon too few", ROLE.replace("::", ":"), new RegExp(`separated by ':'\\. Write "${ROLE}"\\.$`)],
  ["five parts", "arn:aws:iam::1", notARN("arn:aws:iam::1", "it has fewer than six parts separated by ':'")],
]);

const NAME = "is not 1 to 64 letters, digits or _+=,.@-";
const PATH = "is not / or printable ASCII between slashes";
const X = 'Write "arn:aws:iam::111122223333:role/x".';
const FAULTS: readonly (readonly [arn: string, faults: string, fix?: string])[] = [
  ["arn:aws:iam::111122223333:user/jane", 'its resource is "user/jane", not role/NAME'],
  ["arn:aws:iam::111122223333:root", 'its resource is "root", not role/NAME'],
  ["arn:aws:iam::111122223333:Role/x", 'its resource is "Role/x", not role/NAME', X],
  ["arn:aws:iam::1111-2222-3333:role/x", 'its account is "1111-2222-3333", not 12 digits', X],
  ["arn:aws:sts::111122223333:assumed-role/x/y",
    'its service is "sts", not iam; its resource is "assumed-role/x/y", not role/NAME', X],
  ["arn:aws:sts::111122223333:assumed-role/AWSReservedSSO_x/y",
    'its service is "sts", not iam; its resource is "assumed-role/AWSReservedSSO_x/y", not role/NAME'],
  ["arn:aws:iam:eu-west-1:111122223333:role/x", 'its region is "eu-west-1", but IAM ARNs have no region', X],
  ["arn:aws:iam::11112222333:role/x", 'its account is "11112222333", not 12 digits'],
  ["arn:aws:iam::1111222233334:role/x", 'its account is "1111222233334", not 12 digits'],
  ["arn:awsome:iam::111122223333:role/x", 'its partition is "awsome", not aws, aws-cn, aws-us-gov or another aws-*'],
  ["arn:aws:iam::111122223333:role/", `its role name "" ${NAME}`],
  ["arn:aws:iam::111122223333:role/a b", `its role name "a b" ${NAME}`],
  ["arn:aws:iam::111122223333:role/é", `its role name "é" ${NAME}`],
  ["arn:aws:iam::111122223333:role/x\n", `its role name "x\\n" ${NAME}`, X],
  ["arn:aws:iam::111122223333:role//x", `its role path "//" ${PATH}`],
  ["arn:aws:iam::111122223333:role/a b/x", `its role path "/a b/" ${PATH}`],
  ["arn:::::", 'its partition is "", not aws, aws-cn, aws-us-gov or another aws-*; its service is "", not iam; '
    + 'its account is "", not 12 digits; its resource is "", not role/NAME; it has 8 characters, not 20 to 2048'],
];
const irs03 = (arn: string, faults: string, fix = FIX): string =>
  `deny IRS-03 spec.arn: ${JSON.stringify(arn)} is not the ARN of an IAM role: ${faults}. ${fix}`;
const GOOD = [
  "arn:aws-cn:iam::111122223333:role/x", "arn:aws-us-gov:iam::111122223333:role/x",
  "arn:aws-iso-b:iam::000000000000:role/x", "arn:aws:iam::111122223333:role/a/b/c",
  "arn:aws:iam::111122223333:role/!a:b~/_+=,.@-", "arn:aws:iam::111122223333:role///x",
];
const named = (length: number): string => `arn:aws:iam::111122223333:role/${"n".repeat(length)}`;
const inPath = (length: number): string => `arn:aws:iam::111122223333:role/${"p".repeat(length - 2)}/x`;
const partition = (length: number): string =>
  `arn:aws-${"p".repeat(length - "arn:aws-:iam::111122223333:role/x".length)}:iam::111122223333:role/x`;

testRows("IRS-03: denies an ARN that is not a role ARN, and reports each of its faults", (arn: string) =>
  linesOf({ arn }), [
  ...FAULTS.map(([arn, faults, fix]) => [arn, arn, irs03(arn, faults, fix)] as const),
  ...GOOD.map((arn) => [arn, arn] as const),
  ["a name of 64 characters", named(64)],
  ["a name of 65 characters", named(65), / is not 1 to 64 letters, digits or _\+=,\.@-\. /],
  ["a path of 512 characters", inPath(512)],
  ["a path of 513 characters", inPath(513),
    / is not the ARN of an IAM role: its role path has 513 characters, not at most 512\. /],
  ["an ARN of 2048 characters", partition(2048)],
  ["an ARN of 2049 characters", partition(2049),
    /… \(2049 characters\) is not the ARN of an IAM role: it has 2049 characters, not 20 to 2048\. /],
]);

const ofAWS = (name: string, what: string): string => `warn IRS-03 spec.arn: "${named(0)}${name}" is ${what}, which `
  + `only `
  + "AWS can assume. Create your own role whose trust policy names the controller's role.";
const LINKED = "aws-service-role/s3.amazonaws.com/AWSServiceRoleForS3";
const RESERVED = "aws-reserved/sso.amazonaws.com/AWSReservedSSO_Admin_0123456789abcdef";
testRows("IRS-03: warns about a role that only AWS can assume", (name: string) => linesOf({ arn: named(0) + name }), [
  ["service-linked", LINKED, ofAWS(LINKED, "a service-linked role")],
  ["reserved", RESERVED, ofAWS(RESERVED, "a role that AWS reserves")],
  ...["service-role/lambda", "aws-service-role", "team/aws-reserved/x"].map((name) => [name, name] as const),
]);
