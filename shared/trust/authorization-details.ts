import { field, stringAt } from "../formats/json.ts";
import { accountKey, type DocumentText, type InlinePolicy } from "./iam-objects.ts";
import {
  boundaryAt, documentAt, type IAMReader, isPage, listAt, notePage, type ReaderContext, tagsOf, textsAt, withARN,
} from "./iam-reader.ts";
import type { JSONElement } from "./json-elements.ts";

export const LISTS = ["RoleDetailList", "UserDetailList", "GroupDetailList", "Policies"] as const;
type List = (typeof LISTS)[number];
const NO_GAPS = [] as const;

/** Reads the output of `aws iam get-account-authorization-details`. */
export class AuthorizationDetails implements IAMReader {
  readonly #context: ReaderContext;
  readonly #files: readonly string[];
  readonly #lists = new Map<string, number>();
  /** The ARN of an object of each account. */
  readonly #accounts = new Map<string, string>();
  readonly #used = new Set<string>();
  #isTruncated = false;

  constructor(context: ReaderContext) {
    this.#context = context;
    this.#files = [context.file];
  }

  add(element: JSONElement): void {
    const { key, index, value } = element;
    if (isPage(element)) this.#isTruncated = true;
    notePage(this.#context, element);
    if (!isList(key)) return;
    if (index === null) this.#lists.set(key, this.#lists.get(key) ?? 0);
    else this.#addElement(key, index, value);
  }

  finish(): void {
    if (!this.#isComplete()) return;
    const { data } = this.#context;
    for (const arn of this.#accounts.values()) {
      data.setComplete("role", arn);
      // An export with the filter `Role` has an empty list of users too.
      if (this.#lists.get("UserDetailList") !== 0) data.setComplete("user", arn);
    }
  }

  /** Every account has roles, and an export with filters lacks lists or the documents of attached policies. */
  #isComplete(): boolean {
    const isFiltered = LISTS.some((list) => !this.#lists.has(list)) || this.#lists.get("RoleDetailList") === 0;
    const { data } = this.#context;
    return !this.#isTruncated && !isFiltered && [...this.#used].every((arn) => data.policy(arn) !== null);
  }

  #addElement(key: List, index: number, value: unknown): void {
    this.#lists.set(key, index + 1);
    const { arn, object } = withARN(value, `${key}[${index}]`);
    if (key === "Policies") this.#context.data.addPolicy(arn, defaultDocument(object), this.#context.file);
    else this.#addHolder(key, arn, object);
  }

  #addHolder(list: Exclude<List, "Policies">, arn: string, value: object): void {
    this.#accounts.set(accountKey(arn), arn);
    const { data } = this.#context;
    const prefix = list.replace("DetailList", "");
    const attached = listAt(value, "AttachedManagedPolicies").map((one) => (
      stringAt(one, "PolicyArn") ?? "without an ARN"
    ));
    const inline = listAt(value, `${prefix}PolicyList`).map((one): InlinePolicy => ({
      name: stringAt(one, "PolicyName") ?? "", document: this.#document(one, "PolicyDocument"),
    }));
    for (const used of attached) this.#used.add(used);
    const holder = { arn, files: this.#files, attached, inline, gaps: NO_GAPS };
    const principal = {
      ...holder, boundary: boundaryAt(value), tags: tagsOf(listAt(value, "Tags")),
      uniqueID: stringAt(value, `${prefix}Id`),
    };
    if (list === "GroupDetailList") data.add({ ...holder, kind: "group" });
    else if (list === "UserDetailList") data.add({ ...principal, kind: "user", groups: textsAt(value, "GroupList") });
    else {
      const trust = this.#document(value, "AssumeRolePolicyDocument");
      data.add({ ...principal, kind: "role", trust, isStored: true, maxSessionSeconds: null });
    }
  }

  /** A document that the export lacks is not a policy. */
  #document(value: unknown, key: string): DocumentText {
    return documentAt(this.#context.data, value, key) ?? this.#context.data.textOf(null);
  }
}

function isList(key: string): key is List {
  return LISTS.some((list) => list === key);
}

/** Returns the document of the default version. Versions are in any order. */
function defaultDocument(policy: unknown): unknown {
  const id = stringAt(policy, "DefaultVersionId");
  const versions = listAt(policy, "PolicyVersionList");
  const found = versions.find((one) => field(one, "IsDefaultVersion") === true)
    ?? versions.find((one) => stringAt(one, "VersionId") === id);
  return field(found, "Document");
}
