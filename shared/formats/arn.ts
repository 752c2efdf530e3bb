import { quote } from "./text.ts";

/** The parts of an ARN after `arn:`. */
export interface ARN {
  readonly partition: string;
  readonly service: string;
  readonly region: string;
  readonly accountID: string;
  readonly resource: string;
}

/** The number of colons before the resource of an ARN. */
export const PARTS_BEFORE_RESOURCE = 5;

/**
 * Parses an ARN as the shipped controllers do: a text is an ARN if it starts with `arn:` and has six parts, even
 * `arn:::::`. Returns null for other texts. Source: aws-sdk-go-v2 aws/arn/arn.go, Parse.
 */
export function parseARN(text: string): ARN | null {
  if (!text.startsWith("arn:")) return null;
  // Splits only the first parts, because a client can send a text that has millions of colons.
  const parts: string[] = [];
  let start = 0;
  while (parts.length < PARTS_BEFORE_RESOURCE) {
    const end = text.indexOf(":", start);
    if (end < 0) return null;
    parts.push(text.slice(start, end));
    start = end + 1;
  }
  const [, partition = "", service = "", region = "", accountID = ""] = parts;
  return { partition, service, region, accountID, resource: text.slice(start) };
}

/** Matches the texts that `parseARN` accepts, and their account ID. */
const ACCOUNT_IN_ARN = /^arn:[^:]*:[^:]*:[^:]*:([^:]*):/;

/**
 * Returns the account ID in an ARN, or null if the text contains no account ID or is not an ARN. Does not parse the
 * ARN, because each review of a resource reads the account.
 */
export function accountOfARN(text: string): string | null {
  const accountID = ACCOUNT_IN_ARN.exec(text)?.[1] ?? "";
  return accountID === "" ? null : accountID;
}

// Limits of IAM: https://docs.aws.amazon.com/IAM/latest/APIReference/API_Role.html (path, roleName, arn).
export const PARTITION = /^aws(-[a-z0-9]+)*$/;
export const ACCOUNT_ID = /^[0-9]{12}$/;
export const ROLE_NAME = /^[A-Za-z0-9_+=,.@-]{1,64}$/;
export const ROLE_PATH = /^\/([!-~]+\/)?$/;
export const MAX_PATH_LENGTH = 512;
export const ARN_LENGTH = { min: 20, max: 2048 } as const;

/**
 * Returns the reasons why a parsed ARN is not the ARN of an IAM role; [] for the ARN of an IAM role. Each reason is a
 * clause.
 */
export function roleARNFaults(text: string, arn: ARN): string[] {
  const faults: string[] = [];
  if (!PARTITION.test(arn.partition)) {
    faults.push(`its partition is ${quote(arn.partition)}, not aws, aws-cn, aws-us-gov or another aws-*`);
  }
  if (arn.service !== "iam") faults.push(`its service is ${quote(arn.service)}, not iam`);
  if (arn.region !== "") faults.push(`its region is ${quote(arn.region)}, but IAM ARNs have no region`);
  if (!ACCOUNT_ID.test(arn.accountID)) faults.push(`its account is ${quote(arn.accountID)}, not 12 digits`);
  faults.push(...resourceFaults(arn.resource));
  if (text.length < ARN_LENGTH.min || text.length > ARN_LENGTH.max) {
    faults.push(`it has ${text.length} characters, not ${ARN_LENGTH.min} to ${ARN_LENGTH.max}`);
  }
  return faults;
}

/** Parses the ARN of an IAM role. Returns null for any other text. */
export function parseRoleARN(text: string): ARN | null {
  const arn = parseARN(text);
  return arn !== null && roleARNFaults(text, arn).length === 0 ? arn : null;
}

/** Matches what users write instead of the ARN of a role, without blanks. */
const LIKE_ROLE = new RegExp([
  /^arn:(aws[a-z0-9-]*):(?:iam|sts):(?:[a-z]{2}[a-z0-9-]*)?:{0,2}/, /([0-9]{4}-?[0-9]{4}-?[0-9]{4}):/,
  /(role|assumed-role)s?\/(.+)$/,
].map(({ source }) => source).join(""), "i");

/** Identity Center puts these roles into a path, which the ARN of a session lacks. */
const RESERVED_ROLE = /^AWSReservedSSO_/;

interface NearRole {
  readonly arn: string;
  /** Whether the text can mean only this role. The ARN of a session lacks the path of the role. */
  readonly isSure: boolean;
}

/**
 * Returns the ARN of the role that a user probably means with a text that is no such ARN: without blanks, a region, or
 * hyphens in the account, in lower case, and of the role instead of its session. Null if nothing is near.
 */
export function nearestRoleARN(text: string): NearRole | null {
  if (text.length > ARN_LENGTH.max) return null;
  const match = LIKE_ROLE.exec(text.trim().replaceAll(/ *: */g, ":"));
  if (match === null) return null;
  const [, partition, account, type, path] = match;
  const isSure = String(type).toLowerCase() === "role";
  const name = isSure ? path : String(path).replace(/\/.*$/s, "");
  const arn = `arn:${String(partition).toLowerCase()}:iam::${String(account).replaceAll("-", "")}:role/${name}`;
  const isReserved = !isSure && RESERVED_ROLE.test(String(name));
  return isReserved || parseRoleARN(arn) === null ? null : { arn, isSure };
}

/** Returns the ARN of a session of the role. Like STS, omits the path of the role. */
export function sessionARN(roleARN: string, sessionName: string): string {
  const { partition = "", accountID = "" } = parseARN(roleARN) ?? {};
  const roleName = roleARN.slice(roleARN.lastIndexOf("/") + 1);
  return `arn:${partition}:sts::${accountID}:assumed-role/${roleName}/${sessionName}`;
}

function resourceFaults(resource: string): string[] {
  if (!resource.startsWith("role/")) return [`its resource is ${quote(resource)}, not role/NAME`];
  const pathAndName = resource.slice("role".length);
  const name = pathAndName.slice(pathAndName.lastIndexOf("/") + 1);
  const path = pathAndName.slice(0, pathAndName.length - name.length);
  const faults: string[] = [];
  if (!ROLE_NAME.test(name)) faults.push(`its role name ${quote(name)} is not 1 to 64 letters, digits or _+=,.@-`);
  if (!ROLE_PATH.test(path)) faults.push(`its role path ${quote(path)} is not / or printable ASCII between slashes`);
  if (path.length > MAX_PATH_LENGTH) {
    faults.push(`its role path has ${path.length} characters, not at most ${MAX_PATH_LENGTH}`);
  }
  return faults;
}

export const REGION = /^[a-z]{2,}(-[a-z]+)+-[0-9]+$/;

/**
 * Whether the text has the form of an AWS region, such as eu-west-1. Uses no list of regions, because AWS adds regions.
 */
export function isRegion(text: string): boolean {
  return REGION.test(text);
}

// Source: aws-sdk-go-v2 internal/endpoints/awsrulesfn/partitions.json, regionRegex of each partition.
const PARTITIONS: readonly (readonly [prefix: string, partition: string])[] = [
  ["cn-", "aws-cn"],
  ["us-gov-", "aws-us-gov"],
  ["us-iso-", "aws-iso"],
  ["us-isob-", "aws-iso-b"],
  ["eu-isoe-", "aws-iso-e"],
  ["us-isof-", "aws-iso-f"],
  ["eusc-", "aws-eusc"],
];

const AWS_REGION = /^(us|eu|ap|sa|ca|me|af|il|mx)-\w+-[0-9]+$/;

/** Returns the partition of a region; null if its name does not tell, because it is newer than this release. */
export function partitionOfRegion(name: string): string | null {
  return PARTITIONS.find(([prefix]) => name.startsWith(prefix))?.[1] ?? (AWS_REGION.test(name) ? "aws" : null);
}
