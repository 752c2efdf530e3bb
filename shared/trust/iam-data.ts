import {
  type Account, accountKey, type DocumentText, type HolderKind, type IAMObject, type IAMRole, nameOf, type ObjectPart,
  type UnnamedRole,
} from "./iam-objects.ts";
import { Contradiction, mergeObjects } from "./merge-objects.ts";
import { type ParsedPolicy, parsePolicy, type PolicyKind } from "./policy-document.ts";
import { isSamePolicy } from "./policy-comparison.ts";
import { placeParts } from "./place-parts.ts";

interface ManagedPolicy {
  /** Null if files have different documents. */
  readonly document: DocumentText | null;
  readonly files: readonly string[];
}

/** The number of parsed documents of each kind that are kept. */
const MAX_PARSED = 5_000;
/** AWS changes its policies, so exports of different days can have different documents, and none is certain. */
const OF_AWS = /^arn:[^:]*:iam::aws:/;

/** The objects of all inputs in one form. Stores documents as texts, because most are never evaluated. */
export class IAMData {
  readonly #accounts = new Map<string, Account>();
  readonly #policies = new Map<string, ManagedPolicy>();
  #parts: ObjectPart[] = [];
  /** By a name that is unique among the files. */
  readonly unnamed = new Map<string, UnnamedRole>();
  /** The files that lack roles of their accounts, because they are pages of an output. */
  readonly truncated = new Set<string>();
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

  /** Returns the document of a managed policy; null if no file contains it, or if files have different ones. */
  policy(arn: string): DocumentText | null {
    return this.#policies.get(arn)?.document ?? null;
  }

  /** Returns the files that have different documents of a managed policy of AWS; else []. */
  filesThatDiffer(arn: string): readonly string[] {
    const known = this.#policies.get(arn);
    return known?.document === null ? known.files : [];
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

  /** Returns the role of a name in the account of an ARN, or null if no file contains it. */
  roleNamed(name: string, arn: string): IAMRole | null {
    const found = this.role(this.accountOf(arn)?.names.get(nameKey("role", name))?.arn ?? "");
    return found !== null && nameOf(found.arn) === name ? found : null;
  }

  /** Whether the account of an ARN certainly has no other roles, or users, than those in the files. */
  hasAll(kind: "role" | "user", arn: string): boolean {
    return this.accountOf(arn)?.complete.has(kind) === true;
  }

  /** Adds an object, or merges it with what another file says. Throws a Contradiction if both files differ. */
  add(object: IAMObject): void {
    const account = this.#open(object.arn);
    const { kind, arn, files } = object;
    const key = nameKey(kind, nameOf(arn));
    const named = account.names.get(key);
    if (named === undefined) account.names.set(key, { arn, files });
    else if (named.arn !== arn) throw new Contradiction(`the ARN of the ${kind} ${nameOf(arn)}`, named.files, files);
    if (kind === "group") put(account.groups, nameOf(arn), object);
    else if (kind === "user") put(account.users, arn, object);
    else put(account.roles, arn, object);
  }

  /** Adds a role that nobody can ask about by its ARN. */
  addUnnamed(role: UnnamedRole): void {
    const { address, file } = role;
    this.unnamed.set(this.unnamed.has(address) ? `${address} of ${file}` : address, role);
  }

  /** Adds policies of an object that may be in another file. They apply after `finish`. */
  addPart(part: ObjectPart): void {
    this.#parts.push(part);
  }

  /** Adds a managed policy. Throws a Contradiction if another file has another document of a policy of a customer. */
  addPolicy(arn: string, document: unknown, file: string): void {
    const text = this.textOf(document);
    const { document: known, files } = this.#policies.get(arn) ?? { document: text, files: [] };
    const isSame = known !== null && isSamePolicy(known, text);
    if (!isSame && !OF_AWS.test(arn)) throw new Contradiction(arn, files, [file]);
    this.#policies.set(arn, { document: isSame ? text : null, files: [...files, file] });
  }

  /** Returns a document as a text. A text may be URL-encoded. */
  textOf(document: unknown): DocumentText {
    const text = typeof document === "string" ? document : JSON.stringify(document ?? null);
    const found = this.#texts.get(text);
    if (found === undefined) this.#texts.set(text, text);
    return found ?? text;
  }

  setComplete(kind: "role" | "user", arn: string): void {
    this.#open(arn).complete.add(kind);
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
      roles: new Map(), users: new Map(), groups: new Map(), names: new Map(), complete: new Set<HolderKind>(),
    };
    this.#accounts.set(key, created);
    return created;
  }
}

function nameKey(kind: HolderKind, name: string): string {
  return `${kind} ${name.toLowerCase()}`;
}

function put<T extends IAMObject>(objects: Map<string, T>, key: string, object: T): void {
  const known = objects.get(key);
  const [file = ""] = object.files;
  if (known?.files.includes(file) === true) throw new Error(`${object.arn} is described twice; remove one description`);
  objects.set(key, known === undefined ? object : mergeObjects(known, object));
}
