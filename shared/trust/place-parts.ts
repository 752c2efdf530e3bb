import {
  type Account, accountKey, type HolderKind, type IAMObject, nameOf, type ObjectPart,
} from "./iam-objects.ts";
import { mergeParts } from "./merge-objects.ts";

type Accounts = ReadonlyMap<string, Account>;

/** Adds parts to the objects that they name. A part of an object that no file describes changes no answer. */
export function placeParts(parts: readonly ObjectPart[], accounts: Accounts): void {
  const index = indexOf(accounts);
  const groups = new Map<string, NonEmpty<ObjectPart>>();
  for (const part of parts) put(groups, JSON.stringify([part.kind, part.name, part.account, part.file]), part);
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

function put<Item>(lists: Map<string, NonEmpty<Item>>, key: string, item: Item): void {
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
      for (const name of keysOfObject(object)) put(index, name, { account, key, isWhole: object.gaps.length === 0 });
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
