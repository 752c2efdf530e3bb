import { OWNER_ACCOUNT_ANNOTATION } from "../core/annotation-keys.ts";
import { NAMESPACES, type NamespaceStore } from "../core/namespaces.ts";
import { SetIndex } from "../core/set-index.ts";
import type { InventoryContext, StoreKey } from "../core/store.ts";
import { carmAnnotations, teamOf } from "./carm-maps.ts";

/** The account and the team that the annotations of a namespace name for CARM; "" if they name none. */
interface Owner {
  readonly account: string;
  readonly team: string;
}

/** The Namespaces whose annotations name an account or a team for CARM, indexed by both. Follows their store. */
export class NamespaceOwners {
  readonly #context: InventoryContext;
  readonly #namespaces: NamespaceStore;
  readonly #owners = new Map<string, Owner>();
  readonly #byOwner = new SetIndex<string>();

  constructor(context: InventoryContext, namespaces: NamespaceStore) {
    this.#context = context;
    this.#namespaces = namespaces;
    for (const name of namespaces.names) this.#update(name);
    namespaces.observe((name) => this.#update(name));
  }

  get size(): number {
    return this.#owners.size;
  }

  #update(name: string): void {
    const before = this.#owners.get(name);
    if (before !== undefined) for (const key of ownerKeys(before)) this.#byOwner.delete(key, name);
    const owner = this.#ownerOf(name);
    if (owner === null) {
      this.#owners.delete(name);
      return;
    }
    this.#owners.set(name, owner);
    for (const key of ownerKeys(owner)) this.#byOwner.add(key, name);
  }

  #ownerOf(name: string): Owner | null {
    const annotations = carmAnnotations(name, this.#namespaces.annotationsOf(name));
    const account = annotations.get(OWNER_ACCOUNT_ANNOTATION) ?? "";
    const team = teamOf(annotations, this.#context);
    return account === "" && team === "" ? null : { account, team };
  }

  /** The namespaces whose annotations name an account or a team. */
  get names(): Iterable<string> {
    return this.#owners.keys();
  }

  /** Whether the annotations of a namespace name the team. */
  hasTeam(team: string): boolean {
    return this.#byOwner.count(OWNER_KEYS.team + team) > 0;
  }

  /** Whether the annotations of a namespace name the account; with `withoutTeam`, and no team. */
  hasAccount(account: string, options: AccountOptions): boolean {
    return accountKeys(options).some((key) => this.#byOwner.count(key + account) > 0);
  }

  /** The same for the namespaces besides one. */
  hasAccountBesides(name: string, account: string, options: AccountOptions): boolean {
    return accountKeys(options).some((key) => [...this.#byOwner.get(key + account)].some((other) => other !== name));
  }
}

/** The part of an index key before the account or the team, which can be any text. */
const OWNER_KEYS = { team: "team:", account: "account:", accountBesideTeam: "account-beside-team:" } as const;

interface AccountOptions {
  readonly withoutTeam: boolean;
}

function accountKeys({ withoutTeam }: AccountOptions): readonly string[] {
  const { account: alone, accountBesideTeam } = OWNER_KEYS;
  return withoutTeam ? [alone] : [alone, accountBesideTeam];
}

function* ownerKeys({ account, team }: Owner): Iterable<string> {
  if (team !== "") yield OWNER_KEYS.team + team;
  if (account !== "") yield (team === "" ? OWNER_KEYS.account : OWNER_KEYS.accountBesideTeam) + account;
}

export const NAMESPACE_OWNERS: StoreKey<NamespaceOwners> = {
  name: "owners of namespaces", open: (stores) => new NamespaceOwners(stores.context, stores.of(NAMESPACES)),
};
