import { decideWithTrust, type Existing } from "./decide-with-trust.ts";
import { accountIn, type Entrant } from "./entrant.ts";
import type { IAMData } from "./iam-data.ts";
import type { DocumentText } from "./iam-objects.ts";
import type { Intended } from "./intended.ts";
import { RolePermissions } from "./role-permissions.ts";
import type { Answer } from "./three-values.ts";
import { trustedBy } from "./trusted.ts";

/** Someone who reaches a role through other roles of the exports. */
export interface TrustChain {
  readonly principal: string;
  /** The ARNs of the roles to assume first, in this order. */
  readonly through: readonly string[];
  /** Unknown if a policy of one of the roles is not in the exports, or depends on what they do not contain. */
  readonly verdict: Possible;
}

/** Those who can assume a role. */
export interface Entrants {
  /** Whether the trust policy lets nobody in, is not valid or is not in the exports. */
  readonly isEmpty: boolean;
  /** Everyone whom the trust policy lets in and who is not intended, sorted by name. */
  readonly unintended: readonly Entrant[];
  /** Those who reach the role through others whom it trusts, which can be intended; the shortest chains first. */
  readonly chains: readonly TrustChain[];
  /** Whether roles with an equal trust policy can have the same lists. */
  readonly isShared: boolean;
}

type Possible = Exclude<Answer, "no">;

/** The maximum number of roles between the principal and the role. */
export const MAX_CHAIN = 4;
/** The maximum number of chains for a role. The shortest are found first. */
const MAX_CHAINS = 100;

/** The maximum number of results that are kept for the next role with an equal trust policy. */
const MAX_KNOWN = 1_000;

/** Someone whom trust policies let in, with what is known of him once for all roles. */
interface Party extends Entrant {
  readonly isIntended: boolean;
  readonly partition: string;
  /** The trust policy of this role; null before it is read. */
  trust: Trust | null;
  /** The position among the roles with this trust policy. */
  place: number;
  /** Whether a trust policy that has been read lets the party in. */
  isTrusted: boolean;
  /** Where trust policies let it in, if its policies have not been compared with all roles that have them. */
  open: Caller[];
  /** The number of the last search that has found this party. */
  search: number;
}

/** A trust policy, once for all roles that have an equal one. */
interface Trust {
  readonly number: number;
  readonly callers: readonly Caller[];
  /** Those who are not intended. */
  readonly unintended: readonly Party[];
  /** The roles that have been read. */
  readonly roles: Party[];
}

/** A party whom a trust policy lets in. */
interface Caller {
  readonly party: Party;
  readonly isDelegated: boolean;
  /** The roles that have been read and have the trust policy. */
  readonly roles: readonly Party[];
  /**
   * Whether the policies of the party let it in too: a letter for each of the roles with which they have been compared.
   * There are millions of callers, and a list takes 200 bytes.
   */
  verdicts: string;
}

interface Step {
  readonly role: Party;
  readonly through: readonly string[];
  readonly verdict: Possible;
}

/** Finds chains of roles. Reads the policies of each role once, if all roles are read before the first chain. */
export class TrustChains {
  readonly #existing: Existing;
  readonly #data: IAMData;
  readonly intended: Intended;
  readonly #parties = new Map<string, Party>();
  readonly #trusts = new Map<DocumentText | null, Trust>();
  readonly #known = new Map<string, readonly TrustChain[]>();
  #searches = 0;

  constructor(existing: Existing, intended: Intended) {
    this.#existing = existing;
    this.#data = existing.data;
    this.intended = intended;
  }

  /** Reads the trust policy of a role. */
  read(arn: string): void {
    this.#trustOf(this.#role(arn));
  }

  /** Returns everyone whom the trust policy of a role lets in, and the chains to it. */
  of(arn: string): Entrants {
    const role = this.#role(arn);
    const { callers, unintended, roles } = this.#trustOf(role);
    const isShared = !role.isTrusted && roles.length > 1;
    const chains = isShared ? this.#sharedChains(role) : this.#search(role);
    return { isEmpty: callers.length === 0, unintended, chains, isShared };
  }

  /** Returns one list for roles that the same callers can assume, unless a chain could lead through them. */
  #sharedChains(role: Party): readonly TrustChain[] {
    const { number, callers } = this.#trustOf(role);
    const verdicts = callers.map((caller) => (this.#canLead(caller) ? this.#verdict(caller, role) : ""));
    const key = [number, ...verdicts].join(" ");
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const chains = this.#search(role);
    // The search has read every role through which a chain could lead.
    if (role.isTrusted) return chains;
    if (this.#known.size >= MAX_KNOWN) this.#known.clear();
    this.#known.set(key, chains);
    return chains;
  }

  #search(role: Party): TrustChain[] {
    const chains: TrustChain[] = [];
    const search = ++this.#searches;
    const { callers } = this.#trustOf(role);
    role.search = search;
    for (const { party } of callers) party.search = search;
    let steps = this.#stepsTo({ role, through: [], verdict: "yes" }, callers);
    while (steps.length > 0) {
      const next: Step[] = [];
      for (const step of steps) {
        const found = this.#trustOf(step.role).callers.filter(({ party }) => party.search !== search);
        const able = found.flatMap((caller) => {
          const verdict = this.#verdict(caller, step.role);
          return verdict === "no" ? [] : [{ caller, verdict: bothOf(step.verdict, verdict) }];
        });
        for (const { caller: { party } } of able) party.search = search;
        chains.push(...able.filter(({ caller }) => !caller.party.isIntended).map(({ caller, verdict }): TrustChain => (
          { principal: caller.party.name, through: step.through, verdict }
        )));
        if (chains.length >= MAX_CHAINS) return chains.slice(0, MAX_CHAINS);
        next.push(...this.#stepsTo(step, able.map(({ caller }) => caller)));
      }
      steps = next;
    }
    return chains;
  }

  /** Returns the steps of those callers of a step's role that are roles of the exports, and that can assume it. */
  #stepsTo(to: Step, callers: readonly Caller[]): Step[] {
    if (to.through.length >= MAX_CHAIN) return [];
    return callers.flatMap((caller): Step[] => {
      const verdict = this.#canLead(caller) ? this.#verdict(caller, to.role) : "no";
      if (verdict === "no") return [];
      const { party } = caller;
      return [{ role: party, through: [party.name, ...to.through], verdict: bothOf(to.verdict, verdict) }];
    });
  }

  /** Whether a caller is a role that lets others in. */
  #canLead({ party }: Caller): boolean {
    return party.kind === "role" && this.#trustOf(party).callers.length > 0;
  }

  #role(arn: string): Party {
    return this.#party({ kind: "role", name: arn, accountID: accountIn(arn) });
  }

  /** Returns one object for all roles that trust a party, without its statements, which take ten times the memory. */
  #party({ kind, name, accountID }: Entrant): Party {
    const key = `${kind} ${name}`;
    const known = this.#parties.get(key);
    if (known !== undefined) return known;
    const isIntended = this.intended.has({ kind, name, accountID });
    const party: Party = {
      kind, name, accountID, isIntended, partition: partitionOf(name),
      trust: null, place: 0, isTrusted: false, open: [], search: 0,
    };
    this.#parties.set(key, party);
    return party;
  }

  #trustOf(party: Party): Trust {
    if (party.trust !== null) return party.trust;
    const document = this.#data.role(party.name)?.trust ?? null;
    const known = this.#trusts.get(document);
    const trust = known ?? this.#read(document, party);
    party.trust = trust;
    if (known === undefined) return trust;
    const { callers, roles } = known;
    for (const caller of callers) if (caller.verdicts.length === roles.length) caller.party.open.push(caller);
    party.place = roles.length;
    roles.push(party);
    return trust;
  }

  /** Reads the trust policy of the first role that has it. */
  #read(document: DocumentText | null, role: Party): Trust {
    const policy = document === null ? null : this.#data.parse(document, "trust").policy;
    const roles = [role];
    const callers = (policy === null ? [] : trustedBy(policy)).map((one): Caller => {
      const party = this.#party(one);
      const caller = { party, isDelegated: one.isDelegated, roles, verdicts: "" };
      party.isTrusted = true;
      party.open.push(caller);
      return caller;
    });
    const unintended = callers.flatMap(({ party }) => (party.isIntended ? [] : [party]));
    const trust = { number: this.#trusts.size, callers, unintended, roles };
    this.#trusts.set(document, trust);
    return trust;
  }

  #verdict(caller: Caller, role: Party): Answer {
    if (role.place >= caller.verdicts.length) this.#compare(caller.party);
    const letter = caller.verdicts[role.place];
    return letter === "y" ? "yes" : letter === "n" ? "no" : "unknown";
  }

  /** Compares the policies of a party with all roles that have been read, because they are parsed for that. */
  #compare(party: Party): void {
    const role = party.kind === "role" ? this.#data.role(party.name) : null;
    const permissions = role === null ? null : new RolePermissions(role, this.#data);
    for (const caller of party.open) {
      for (const one of caller.roles.slice(caller.verdicts.length)) {
        caller.verdicts += this.#decide(caller, one, permissions).charAt(0);
      }
    }
    party.open = [];
  }

  /** Whether the policies of a caller let it assume a role that trusts it. */
  #decide({ party, isDelegated }: Caller, role: Party, permissions: RolePermissions | null): Answer {
    const { kind, name, accountID, partition } = party;
    if (kind !== "role" && kind !== "user") return OUTSIDE.has(kind) ? "yes" : "unknown";
    if (partition !== role.partition) return "no";
    if (kind === "role") {
      const simple = this.#simple(permissions, name, role.name, !isDelegated && accountID === role.accountID);
      if (simple !== null) return simple;
    }
    const statement = { Effect: "Allow", Principal: { AWS: isDelegated ? accountID : name }, Action: "sts:AssumeRole" };
    return decideWithTrust(name, { role: role.name, trustPolicy: { Statement: statement } }, this.#existing);
  }

  #simple(permissions: RolePermissions | null, name: string, role: string, isAlone: boolean): Answer | null {
    if (permissions !== null) return isAlone ? permissions.alone() : permissions.answer(role);
    return this.#data.hasAll("role", name) ? "no" : "unknown";
  }
}

/** Whom the trust policy alone lets in. */
const OUTSIDE: ReadonlySet<Entrant["kind"]> = new Set(["any", "service", "provider"]);

function partitionOf(arn: string): string {
  return arn.slice(0, arn.indexOf(":", "arn:".length));
}

function bothOf(one: Possible, other: Possible): Possible {
  return one === "yes" && other === "yes" ? "yes" : "unknown";
}
