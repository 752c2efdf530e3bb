import {
  type Account, accountKey, type DocumentText, type HolderKind, type IAMObject, type IAMRole, nameOf,
  type ObjectPart, type UnnamedRole,
} from "./iam-objects.ts";
import { Contradiction, mergeObjects, mergeParts } from "./merge-objects.ts";
import { type ParsedPolicy, parsePolicy, type PolicyKind } from "./policy-document.ts";
import { isSamePolicy } from "./policy-comparison.ts";

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

type Accounts = ReadonlyMap<string, Account>;

/** Adds parts to the objects that they name. A part of an object that no file describes changes no answer. */
function placeParts(parts: readonly ObjectPart[], accounts: Accounts): void {
  const index = indexOf(accounts);
  const groups = new Map<string, NonEmpty<ObjectPart>>();
  for (const part of parts) addTo(groups, JSON.stringify([part.kind, part.name, part.account, part.file]), part);
  for (const group of groups.values()) {
    const [first] = group;
    const { owners, isAmbiguous } = ownersOf(first, index);
    const added = first.name === null ? [first] : isAmbiguous ? [ambiguous(first, first.name)] : group;
    for (const { account, key } of owners) merge(account, first.kind, key, added);
  }
}

interface Owners {
  readonly owners: readonly Owner[];
  /** Whether the policies may be those of any owner, or of an object of another account, so that each has a gap. */
  readonly isAmbiguous: boolean;
}

function ownersOf(part: ObjectPart, index: ReadonlyMap<string, readonly Owner[]>): Owners {
  const [own, elsewhere] = keysOf(part);
  const found = index.get(own);
  if (found !== undefined) return { owners: found, isAmbiguous: found.length > 1 };
  const owners = index.get(elsewhere) ?? [];
  const isGuess = part.account === null && owners.some(({ isWhole }) => isWhole);
  return { owners, isAmbiguous: isGuess || owners.length > 1 };
}

type NonEmpty<Item> = [Item, ...Item[]];

function addTo<Item>(lists: Map<string, NonEmpty<Item>>, key: string, item: Item): void {
  const found = lists.get(key);
  if (found === undefined) lists.set(key, [item]);
  else found.push(item);
}

/** The place of an object in its account. */
interface Owner {
  readonly account: Account;
  readonly key: string;
  /** Whether the policies of the object are known already. */
  readonly isWhole: boolean;
}

function indexOf(accounts: Accounts): ReadonlyMap<string, readonly Owner[]> {
  const index = new Map<string, NonEmpty<Owner>>();
  for (const account of accounts.values()) {
    for (const [key, object] of [...account.roles, ...account.users, ...account.groups]) {
      for (const name of keysOfObject(object)) addTo(index, name, { account, key, isWhole: object.gaps.length === 0 });
    }
  }
  return index;
}

function keysOfObject({ kind, arn, files }: IAMObject): string[] {
  const name = nameOf(arn);
  return [
    keyOf("account", accountKey(arn), kind, name), keyOf("name", kind, name),
    ...files.flatMap((file) => [keyOf("file", file, kind, name), keyOf("all", file, kind)]),
  ];
}

/** Returns the keys under which the owners of a part are found in its own file and in other files. */
function keysOf({ kind, name, account, file }: ObjectPart): readonly [own: string, elsewhere: string] {
  if (name === null) return [keyOf("all", file, kind), keyOf("all", file, kind)];
  const elsewhere = account === null ? keyOf("name", kind, name)
    : keyOf("account", `${account.partition}:${account.accountID}`, kind, name);
  return [keyOf("file", file, kind, name), elsewhere];
}

function keyOf(...texts: readonly string[]): string {
  return JSON.stringify(texts);
}

function ambiguous(part: ObjectPart, name: string): ObjectPart {
  const cause = `${part.file} adds policies to the ${part.kind} ${name} without its account`;
  return { ...part, inline: [], attached: [], groups: [], gaps: [...part.gaps, { part: "inline policies", cause }] };
}

function merge(account: Account, kind: HolderKind, key: string, parts: readonly ObjectPart[]): void {
  if (kind === "group") replace(account.groups, key, parts);
  else if (kind === "user") replace(account.users, key, parts);
  else replace(account.roles, key, parts);
}

function replace<T extends IAMObject>(objects: Map<string, T>, key: string, parts: readonly ObjectPart[]): void {
  const object = objects.get(key);
  if (object !== undefined) objects.set(key, mergeParts(object, parts));
}
