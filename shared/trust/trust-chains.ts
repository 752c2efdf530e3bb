import { decideWithTrust, type Existing } from "./decide-with-trust.ts";
import { accountIn, type Entrant } from "./entrant.ts";
import type { IAMData } from "./iam-data.ts";
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

type Possible = Exclude<Answer, "no">;

/** The maximum number of roles between the principal and the role. */
export const MAX_CHAIN = 4;
/** The maximum number of chains for a role. The shortest are found first. */
const MAX_CHAINS = 100;

/** Someone whom trust policies let in, with what is known of him once for all roles. */
interface Party extends Entrant {
  readonly isIntended: boolean;
  /** Those whom the trust policy of this role lets in; null before it is read. */
  callers: readonly Caller[] | null;
  /** The roles that have been read and trust this role, if its policies have not been compared with theirs. */
  open: Caller[];
  /** The number of the last search that has found this party. */
  search: number;
}

/** A party whom the trust policy of a role lets in. */
interface Caller {
  readonly party: Party;
  readonly role: string;
  readonly isDelegated: boolean;
  /** Whether the policies of the party let it in too; unknown before they are compared. */
  verdict: Answer;
  isCompared: boolean;
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
  readonly #intended: Intended;
  readonly #parties = new Map<string, Party>();
  #searches = 0;

  constructor(existing: Existing, intended: Intended) {
    this.#existing = existing;
    this.#data = existing.data;
    this.#intended = intended;
  }

  /** Returns everyone whom the trust policy of a role lets in; [] if it is not valid or not in the exports. */
  trustedBy(arn: string): readonly Party[] {
    return this.#callersOf(this.#role(arn)).map(({ party }) => party);
  }

  /** Returns those who reach a role through those whom it trusts, which can be intended; the shortest chains first. */
  to(arn: string): TrustChain[] {
    const chains: TrustChain[] = [];
    const role = this.#role(arn);
    const search = ++this.#searches;
    role.search = search;
    for (const { party } of this.#callersOf(role)) party.search = search;
    let steps = this.#stepsTo({ role, through: [], verdict: "yes" }, this.#callersOf(role));
    while (steps.length > 0) {
      const next: Step[] = [];
      for (const step of steps) {
        const found = this.#callersOf(step.role).filter(({ party }) => party.search !== search);
        const able = found.filter((caller) => this.#verdict(caller) !== "no");
        for (const { party } of able) party.search = search;
        chains.push(...able.filter(({ party }) => !party.isIntended).map((caller): TrustChain => (
          { principal: caller.party.name, through: step.through, verdict: bothOf(step.verdict, caller.verdict) }
        )));
        if (chains.length >= MAX_CHAINS) return chains.slice(0, MAX_CHAINS);
        next.push(...this.#stepsTo(step, able));
      }
      steps = next;
    }
    return chains;
  }

  /** Returns the steps of those callers of a step's role that are roles of the exports, and that can assume it. */
  #stepsTo(to: Step, callers: readonly Caller[]): Step[] {
    if (to.through.length >= MAX_CHAIN) return [];
    return callers.flatMap((caller): Step[] => {
      const { party } = caller;
      if (party.kind !== "role" || this.#callersOf(party).length === 0) return [];
      if (this.#verdict(caller) === "no") return [];
      return [{ role: party, through: [party.name, ...to.through], verdict: bothOf(to.verdict, caller.verdict) }];
    });
  }

  #role(arn: string): Party {
    return this.#party({ kind: "role", name: arn, accountID: accountIn(arn) });
  }

  /** Returns one object for all roles that trust a party, without its statements, which take ten times the memory. */
  #party({ kind, name, accountID }: Entrant): Party {
    const key = `${kind} ${name}`;
    const known = this.#parties.get(key);
    if (known !== undefined) return known;
    const isIntended = this.#intended.has({ kind, name, accountID });
    const party: Party = { kind, name, accountID, isIntended, callers: null, open: [], search: 0 };
    this.#parties.set(key, party);
    return party;
  }

  #callersOf(party: Party): readonly Caller[] {
    if (party.callers !== null) return party.callers;
    const trust = this.#data.role(party.name)?.trust ?? null;
    const policy = trust === null ? null : this.#data.parse(trust, "trust").policy;
    const trusted = policy === null ? [] : trustedBy(policy);
    party.callers = trusted.map((one) => this.#caller(this.#party(one), party.name, one.isDelegated));
    return party.callers;
  }

  #caller(party: Party, role: string, isDelegated: boolean): Caller {
    const caller = { party, role, isDelegated, verdict: "unknown" as Answer, isCompared: false };
    party.open.push(caller);
    return caller;
  }

  /** Compares the policies of a caller with all roles that have been read, because they are parsed for that. */
  #verdict(caller: Caller): Answer {
    if (!caller.isCompared) {
      const { party } = caller;
      const role = party.kind === "role" ? this.#data.role(party.name) : null;
      const permissions = role === null ? null : new RolePermissions(role, this.#data);
      for (const one of party.open) Object.assign(one, { verdict: this.#decide(one, permissions), isCompared: true });
      party.open = [];
    }
    return caller.verdict;
  }

  /** Whether the policies of a caller let it assume a role that trusts it. */
  #decide({ party, role, isDelegated }: Caller, permissions: RolePermissions | null): Answer {
    const { kind, name, accountID } = party;
    if (kind !== "role" && kind !== "user") return OUTSIDE.has(kind) ? "yes" : "unknown";
    if (partitionOf(name) !== partitionOf(role)) return "no";
    if (kind === "role") {
      const simple = this.#simple(permissions, name, role, !isDelegated && accountID === accountIn(role));
      if (simple !== null) return simple;
    }
    const statement = { Effect: "Allow", Principal: { AWS: isDelegated ? accountID : name }, Action: "sts:AssumeRole" };
    return decideWithTrust(name, { role, trustPolicy: { Statement: statement } }, this.#existing);
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

function bothOf(one: Possible, other: Answer | null): Possible {
  return one === "yes" && other === "yes" ? "yes" : "unknown";
}
