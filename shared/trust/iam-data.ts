import { parseARN } from "../formats/arn.ts";
import { field, isJsonObject, type JsonObject, stringAt } from "../formats/json.ts";
import type { Tags } from "./assume-role-call.ts";
import { type ParsedPolicy, parsePolicy, type PolicyKind } from "./policy-document.ts";

/** A policy document as a text. */
type DocumentText = string;

/** What a role, a user and a group have. */
interface Holder {
  readonly arn: string;
  readonly inline: readonly { readonly name: string; readonly document: DocumentText }[];
  /** The ARNs of attached policies. */
  readonly attached: readonly string[];
}

interface Principal extends Holder {
  readonly uniqueID: string | null;
  readonly tags: Tags;
  /** The ARN of the permissions boundary. */
  readonly boundary: string | null;
}

export interface IAMRole extends Principal {
  readonly kind: "role";
  readonly trust: DocumentText;
}

export interface IAMUser extends Principal {
  readonly kind: "user";
  readonly groups: readonly string[];
}

export interface IAMGroup extends Holder {
  readonly kind: "group";
}

/** The objects of an account. */
export interface Account {
  readonly roles: Map<string, IAMRole>;
  /** The ARNs of roles by name: a name is unique in an account. */
  readonly roleNames: Map<string, string>;
  readonly users: Map<string, IAMUser>;
  readonly groups: Map<string, IAMGroup>;
  /** Whether one file contains all roles, users and policies of the account. */
  isComplete: boolean;
}

/** The number of parsed documents of each kind that are kept. */
const MAX_PARSED = 5_000;

/** The objects of all exports. Stores documents as texts, because most are never evaluated. */
export class IAMData {
  readonly #accounts = new Map<string, Account>();
  readonly #policies = new Map<string, DocumentText>();
  /** Equal documents are one text. */
  readonly #texts = new Map<string, string>();
  readonly #parsed = { trust: new Map<string, ParsedPolicy>(), identity: new Map<string, ParsedPolicy>() };

  /** Returns the account of an ARN, or null if no file contains one of its objects. */
  accountOf(arn: string): Account | null {
    return this.#accounts.get(accountKey(arn)) ?? null;
  }

  /** Returns a role, or null if no file contains it. */
  role(arn: string): IAMRole | null {
    return this.accountOf(arn)?.roles.get(arn) ?? null;
  }

  /** Yields the roles of all accounts. */
  *roles(): Iterable<IAMRole> {
    for (const { roles } of this.#accounts.values()) yield* roles.values();
  }

  /** Returns the document of a managed policy, or null if no file contains it. */
  policy(arn: string): DocumentText | null {
    return this.#policies.get(arn) ?? null;
  }

  /** Parses a document only once. */
  parse(text: DocumentText, kind: PolicyKind): ParsedPolicy {
    const { [kind]: known } = this.#parsed;
    const found = known.get(text);
    if (found !== undefined) return found;
    const parsed = parsePolicy(text, kind);
    if (known.size >= MAX_PARSED) known.clear();
    known.set(text, parsed);
    return parsed;
  }

  add(object: IAMRole | IAMUser | IAMGroup): void {
    const account = this.#open(object.arn);
    const name = nameOf(object.arn);
    if (object.kind === "group") account.groups.set(name, object);
    else if (object.kind === "user") account.users.set(object.arn, object);
    else {
      account.roles.set(object.arn, object);
      account.roleNames.set(name, object.arn);
    }
  }

  addPolicy(arn: string, document: unknown): void {
    this.#policies.set(arn, this.textOf(document));
  }

  /** Returns a document as a text. A text may be URL-encoded. */
  textOf(document: unknown): DocumentText {
    const text = typeof document === "string" ? document : JSON.stringify(document ?? null);
    const found = this.#texts.get(text);
    if (found === undefined) this.#texts.set(text, text);
    return found ?? text;
  }

  setComplete(arn: string): void {
    this.#open(arn).isComplete = true;
  }

  #open(arn: string): Account {
    const key = accountKey(arn);
    const found = this.#accounts.get(key);
    if (found !== undefined) return found;
    const created = {
      roles: new Map(), roleNames: new Map(), users: new Map(), groups: new Map(), isComplete: false,
    };
    this.#accounts.set(key, created);
    return created;
  }
}

function accountKey(arn: string): string {
  const [, partition, , , accountID] = arn.split(":", 5);
  return [partition, accountID].join(":");
}

export function nameOf(arn: string): string {
  return arn.slice(arn.lastIndexOf("/") + 1);
}

const LISTS = ["RoleDetailList", "UserDetailList", "GroupDetailList", "Policies"] as const;
type List = (typeof LISTS)[number];

/** What the evaluation of a file's completeness needs. */
export class ExportFile {
  readonly #data: IAMData;
  readonly #lists = new Map<string, number>();
  /** The ARN of an object of each account. */
  readonly #accounts = new Map<string, string>();
  readonly #used = new Set<string>();
  #isTruncated = false;

  constructor(data: IAMData) {
    this.#data = data;
  }

  /** Adds a part of the file. Throws an Error if an object does not have an ARN. */
  add({ key, index, value }: { readonly key: string; readonly index: number | null; readonly value: unknown }): void {
    const isToken = (key === "NextToken" || key === "Marker") && typeof value === "string";
    if (isToken || (key === "IsTruncated" && value === true)) this.#isTruncated = true;
    if (!isList(key)) return;
    if (index === null) this.#lists.set(key, this.#lists.get(key) ?? 0);
    else this.#addElement(key, index, value);
  }

  #addElement(key: List, index: number, value: unknown): void {
    this.#lists.set(key, index + 1);
    const arn = stringAt(value, "Arn");
    if (!isJsonObject(value) || arn === null || parseARN(arn) === null) {
      throw new Error(`${key}[${index}] does not have an Arn`);
    }
    if (key === "Policies") this.#data.addPolicy(arn, defaultDocument(value));
    else this.#addHolder(key, arn, value);
  }

  /** Ends the file. Returns whether it is an export. */
  finish(): boolean {
    if (this.#isComplete()) for (const arn of this.#accounts.values()) this.#data.setComplete(arn);
    return this.#lists.size > 0;
  }

  /** Every account has roles, and an export with filters lacks lists or the documents of attached policies. */
  #isComplete(): boolean {
    const isFiltered = LISTS.some((list) => !this.#lists.has(list)) || this.#lists.get("RoleDetailList") === 0;
    return !this.#isTruncated && !isFiltered && [...this.#used].every((arn) => this.#data.policy(arn) !== null);
  }

  #addHolder(list: Exclude<List, "Policies">, arn: string, value: JsonObject): void {
    this.#accounts.set(accountKey(arn), arn);
    const prefix = list.replace("DetailList", "");
    const attached = listAt(value, "AttachedManagedPolicies").map((one) => (
      stringAt(one, "PolicyArn") ?? "without an ARN"
    ));
    const inline = listAt(value, `${prefix}PolicyList`).map((one) => ({
      name: stringAt(one, "PolicyName") ?? "", document: this.#data.textOf(field(one, "PolicyDocument")),
    }));
    const holder = { arn, attached, inline };
    const hasBoundary = (field(value, "PermissionsBoundary") ?? null) !== null;
    const boundary = hasBoundary
      ? stringAt(value, "PermissionsBoundary", "PermissionsBoundaryArn") ?? "without an ARN" : null;
    for (const used of attached) this.#used.add(used);
    const principal = { ...holder, boundary, tags: tagsOf(value), uniqueID: stringAt(value, `${prefix}Id`) };
    if (list === "GroupDetailList") this.#data.add({ ...holder, kind: "group" });
    else if (list === "UserDetailList") {
      const groups = listAt(value, "GroupList").map(String);
      this.#data.add({ ...principal, kind: "user", groups });
    } else {
      const trust = this.#data.textOf(field(value, "AssumeRolePolicyDocument"));
      this.#data.add({ ...principal, kind: "role", trust });
    }
  }
}

function isList(key: string): key is List {
  return LISTS.some((list) => list === key);
}

function listAt(value: unknown, key: string): readonly unknown[] {
  const list = field(value, key) ?? [];
  if (!Array.isArray(list)) throw new TypeError(`${key} is not a list`);
  return list;
}

function tagsOf(value: JsonObject): Tags {
  return new Map(listAt(value, "Tags").map((tag) => [stringAt(tag, "Key") ?? "", stringAt(tag, "Value") ?? ""]));
}

/** Returns the document of the default version. Versions are in any order. */
function defaultDocument(policy: JsonObject): unknown {
  const id = stringAt(policy, "DefaultVersionId");
  const versions = listAt(policy, "PolicyVersionList");
  const found = versions.find((one) => field(one, "IsDefaultVersion") === true)
    ?? versions.find((one) => stringAt(one, "VersionId") === id);
  return field(found, "Document");
}
