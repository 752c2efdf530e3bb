import type { Tags } from "./assume-role-call.ts";

/** A policy document as a text. */
export type DocumentText = string;

export interface InlinePolicy {
  readonly name: string;
  /** Null if the input has only its name. */
  readonly document: DocumentText | null;
}

/** A part of an object that inputs can lack. */
export type GapPart = "inline policies" | "attached policies" | "permissions boundary" | "groups";

/** What is not known of an object. */
export interface Gap {
  readonly part: GapPart;
  /** What another input cannot fill, for example a value that Terraform knows only after apply. Null if it can. */
  readonly cause: string | null;
}

/** What a role, a user and a group have. */
interface Holder {
  readonly arn: string;
  /** The files that describe it, as the user wrote them. */
  readonly files: readonly string[];
  readonly inline: readonly InlinePolicy[];
  /** The ARNs of attached policies. */
  readonly attached: readonly string[];
  readonly gaps: readonly Gap[];
}

interface Principal extends Holder {
  /** Null if it is not known. */
  readonly uniqueID: string | null;
  /** Null if they are not known. */
  readonly tags: Tags | null;
  /** The ARN of the permissions boundary. Null if it has none, or if a gap says that it is not known. */
  readonly boundary: string | null;
}

export interface IAMRole extends Principal {
  readonly kind: "role";
  /** Null if it is not known. */
  readonly trust: DocumentText | null;
  /** Whether IAM has stored the trust policy: it is not planned. */
  readonly isStored: boolean;
  /** The maximum duration of a session. Null if it is not known. */
  readonly maxSessionSeconds: number | null;
}

/** A role whose ARN its input does not state yet, for example because Terraform generates the name. */
export interface UnnamedRole {
  /** Its name in the file, such as `aws_iam_role.app`. */
  readonly address: string;
  readonly file: string;
  readonly trust: DocumentText | null;
}

export interface IAMUser extends Principal {
  readonly kind: "user";
  readonly groups: readonly string[];
}

export interface IAMGroup extends Holder {
  readonly kind: "group";
}

export type IAMObject = IAMRole | IAMUser | IAMGroup;
export type HolderKind = IAMObject["kind"];

/** The objects of an account. */
export interface Account {
  readonly roles: Map<string, IAMRole>;
  readonly users: Map<string, IAMUser>;
  readonly groups: Map<string, IAMGroup>;
  /** The ARNs, and the files that have them first, by kind and name in lowercase, which are unique in an account. */
  readonly names: Map<string, { readonly arn: string; readonly files: readonly string[] }>;
  /** The kinds of which one file contains all objects of the account, and their policies. */
  readonly complete: Set<HolderKind>;
}

/** The account that a file describes, if the file does not state it, and the ARN of what it describes. */
export interface Subject {
  readonly partition: string;
  readonly accountID: string;
  /** Null if the file describes an account. */
  readonly arn: string | null;
}

/** Policies and groups of a role, user or group that an input knows only by its name. */
export interface ObjectPart {
  readonly kind: HolderKind;
  /** Null for every object of this kind in the file: one of them has the policies, and which one is not known. */
  readonly name: string | null;
  /** Null for an account of the file, or any account. */
  readonly account: Pick<Subject, "partition" | "accountID"> | null;
  readonly file: string;
  readonly inline: readonly InlinePolicy[];
  readonly attached: readonly string[];
  readonly groups: readonly string[];
  readonly gaps: readonly Gap[];
}

/** The gaps of an input that describes no policy of a role. */
export const EVERY_GAP: readonly Gap[] = (
  ["inline policies", "attached policies", "permissions boundary", "groups"] as const
).map((part) => ({ part, cause: null }));

/** Returns a role, user or group of which only the ARN is known. */
export function objectOf(kind: "role", arn: string, file: string): IAMRole;
export function objectOf(kind: HolderKind, arn: string, file: string): IAMObject;
export function objectOf(kind: HolderKind, arn: string, file: string): IAMObject {
  const holder = { arn, files: [file], inline: [], attached: [], gaps: EVERY_GAP };
  if (kind === "group") return { ...holder, kind };
  const principal = { ...holder, uniqueID: null, tags: null, boundary: null };
  if (kind === "user") return { ...principal, kind, groups: [] };
  return { ...principal, kind, trust: null, isStored: false, maxSessionSeconds: null };
}

/** Returns the key of the account of an ARN. */
export function accountKey(arn: string): string {
  const [, partition, , , accountID] = arn.split(":", 5);
  return [partition, accountID].join(":");
}

export function nameOf(arn: string): string {
  return arn.slice(arn.lastIndexOf("/") + 1);
}
