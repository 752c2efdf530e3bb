import { ACCOUNT_ID, parseARN } from "../formats/arn.ts";
import { field, isJsonObject, stringAt } from "../formats/json.ts";
import type { Tags } from "./assume-role-call.ts";
import type { IAMData } from "./iam-data.ts";
import type { DocumentText, Gap, GapPart, HolderKind, Subject } from "./iam-objects.ts";
import type { JSONElement } from "./json-elements.ts";
import { unresolvedName } from "./unresolved-values.ts";

/** Reads one kind of input. Throws an Error that says what is wrong and where, without the path of the file. */
export interface IAMReader {
  /** Adds a part of the file. */
  add(element: JSONElement): void;
  finish(): void;
}

export interface ReaderContext {
  readonly data: IAMData;
  /** The path, as the user wrote it. */
  readonly file: string;
  /** What the file describes, if the user stated it. */
  readonly subject: Subject | null;
}

/** Parses what a file describes: an account of the partition `aws`, or an ARN of IAM. Returns null for other texts. */
export function parseSubject(text: string): Subject | null {
  if (ACCOUNT_ID.test(text)) return { partition: "aws", accountID: text, arn: null };
  const arn = parseARN(text);
  if (arn === null || arn.service !== "iam" || arn.region !== "") return null;
  const { partition, accountID, resource } = arn;
  const isOfAWS = accountID === "aws" && resource.startsWith("policy/");
  if (!ACCOUNT_ID.test(accountID) && !isOfAWS) return null;
  return { partition, accountID, arn: resource === "root" ? null : text };
}

const SUBJECT_FIX = "say which it is: --iam 111122223333=FILE, or --iam arn:aws-cn:iam::111122223333:root=FILE";

/** Returns the ARN of an object whose file states only its name. Throws an Error if the account is not known. */
export function arnIn(subject: Subject | null, kind: HolderKind | "policy", path: string, name: string): string {
  if (subject === null) throw new Error(`the account of the ${kind} ${name} is not known; ${SUBJECT_FIX}`);
  return `arn:${subject.partition}:iam::${subject.accountID}:${kind}${path}${name}`;
}

/** Returns the kind of an object by its ARN, or null for the ARN of anything else. */
export function kindOfARN(arn: string): HolderKind | "policy" | null {
  const [kind = ""] = (parseARN(arn)?.resource ?? "").split("/", 1);
  return kind === "role" || kind === "user" || kind === "group" || kind === "policy" ? kind : null;
}

export function listAt(value: unknown, key: string): readonly unknown[] {
  const list = field(value, key) ?? [];
  if (!Array.isArray(list)) throw new TypeError(`${key} is not a list`);
  return list;
}

/** Returns the tags of a list of objects with the fields `Key` and `Value`, or others. */
export function tagsOf(list: readonly unknown[], key = "Key", value = "Value"): Tags {
  return new Map(list.map((tag) => [stringAt(tag, key) ?? "", stringAt(tag, value) ?? ""]));
}

/** Returns a document as a text, or null if the input lacks it. */
export function documentAt(data: IAMData, value: unknown, key: string): DocumentText | null {
  const document = field(value, key) ?? null;
  return document === null ? null : data.textOf(document);
}

/** Returns the ARN of the boundary. `without an ARN` is the ARN of no policy. */
export function boundaryAt(value: unknown): string | null {
  if ((field(value, "PermissionsBoundary") ?? null) === null) return null;
  return stringAt(value, "PermissionsBoundary", "PermissionsBoundaryArn") ?? "without an ARN";
}

export function numberAt(value: unknown, key: string): number | null {
  const number = field(value, key);
  return typeof number === "number" ? number : null;
}

/** Returns the names or ARNs in a list of texts. */
export function textsAt(value: unknown, key: string): string[] {
  return listAt(value, key).filter((item) => typeof item === "string");
}

export function isPage({ key, value }: JSONElement): boolean {
  const isToken = (key === "NextToken" || key === "Marker") && typeof value === "string";
  return isToken || (key === "IsTruncated" && value === true);
}

/** Notes whether the last page of an output that has been read is followed by others. */
export function notePage({ data, file }: ReaderContext, element: JSONElement): void {
  if (isPage(element)) data.truncated.add(file);
  else if (element.key === "IsTruncated") data.truncated.delete(file);
}

/** Returns an element of a list that has an ARN. */
export function withARN(value: unknown, place: string): { readonly arn: string; readonly object: object } {
  const arn = stringAt(value, "Arn");
  if (!isJsonObject(value) || arn === null || parseARN(arn) === null) throw new Error(`${place} does not have an Arn`);
  return { arn, object: value };
}

/** Returns the gap of a value that is not resolved. */
export function gapsOf(part: GapPart, value: unknown): Gap[] {
  const cause = unresolvedName(value);
  return cause === null ? [] : [{ part, cause }];
}
