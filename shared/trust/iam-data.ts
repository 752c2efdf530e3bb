import {
  type Account, accountKey, type DocumentText, type IAMObject, type IAMRole, nameOf, type ObjectPart,
} from "./iam-objects.ts";
import { Contradiction, mergeObjects } from "./merge-objects.ts";
import { type ParsedPolicy, parsePolicy, type PolicyKind } from "./policy-document.ts";
import { isSamePolicy } from "./same-policy.ts";
import { placeParts } from "./place-parts.ts";

interface ManagedPolicy {
  readonly document: DocumentText;
  readonly file: string;
}

/** The number of parsed documents of each kind that are kept. */
const MAX_PARSED = 5_000;
/** AWS changes its policies, so that exports of other days have other documents. */
const OF_AWS = /^arn:[^:]*:iam::aws:/;

/** The objects of all inputs in one form. Stores documents as texts, because most are never evaluated. */
export class IAMData {
  readonly #accounts = new Map<string, Account>();
  readonly #policies = new Map<string, ManagedPolicy>();
  #parts: ObjectPart[] = [];
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
    return this.#policies.get(arn)?.document ?? null;
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

  /** Adds an object, or merges it with what another file says. Throws a Contradiction if both files differ. */
  add(object: IAMObject): void {
    const account = this.#open(object.arn);
    const name = nameOf(object.arn);
    if (object.kind === "group") put(account.groups, name, object);
    else if (object.kind === "user") put(account.users, object.arn, object);
    else {
      put(account.roles, object.arn, object);
      account.roleNames.set(name, object.arn);
    }
  }

  /** Adds policies of an object that may be in another file. They apply after `finish`. */
  addPart(part: ObjectPart): void {
    this.#parts.push(part);
  }

  /** Adds a managed policy. Throws a Contradiction if another file has another document. */
  addPolicy(arn: string, document: unknown, file: string): void {
    const text = this.textOf(document);
    const known = this.#policies.get(arn);
    if (known !== undefined && !OF_AWS.test(arn) && !isSamePolicy(known.document, text)) {
      throw new Contradiction(arn, [known.file], [file]);
    }
    this.#policies.set(arn, { document: text, file });
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

  /** Ends the reading of files. Throws a Contradiction like `add`. */
  finish(): void {
    if (this.#parts.length > 0) placeParts(this.#parts, this.#accounts);
    this.#parts = [];
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

function put<T extends IAMObject>(objects: Map<string, T>, key: string, object: T): void {
  const known = objects.get(key);
  const [file = ""] = object.files;
  if (known?.files.includes(file) === true) throw new Error(`${object.arn} is described twice; remove one description`);
  objects.set(key, known === undefined ? object : mergeObjects(known, object));
}
