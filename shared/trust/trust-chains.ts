import { decideWithTrust, type Existing } from "./decide-with-trust.ts";
import { canAllow, canDeny } from "./document-text.ts";
import { accountIn } from "./entrant.ts";
import type { IAMData } from "./iam-data.ts";
import type { IAMRole } from "./iam-objects.ts";
import type { Intended } from "./intended.ts";
import type { Answer } from "./three-values.ts";
import { type Trusted, trustedBy } from "./trusted.ts";

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

interface Step {
  readonly role: string;
  readonly through: readonly string[];
  readonly verdict: Possible;
}

/** Someone whom a trust policy lets in. */
export type Caller = Omit<Trusted, "statements">;

interface Found {
  readonly principal: Caller;
  readonly verdict: Possible;
}

/** Finds chains of roles. Reads the trust policy of each role that another one trusts only once. */
export class TrustChains {
  readonly #existing: Existing;
  readonly #data: IAMData;
  readonly #intended: Intended;
  readonly #trusted = new Map<string, readonly Caller[]>();
  readonly #callers = new Map<string, Caller>();

  constructor(existing: Existing, intended: Intended) {
    this.#existing = existing;
    this.#data = existing.data;
    this.#intended = intended;
  }

  /** Returns those who reach a role through those whom it trusts, which can be intended; the shortest chains first. */
  to(role: string): TrustChain[] {
    const chains: TrustChain[] = [];
    const trusted = this.trustedBy(role);
    const seen = new Set([role, ...trusted.map(({ name }) => name)]);
    let steps = trusted.flatMap((one) => this.#step(one, { role, through: [], verdict: "yes" }) ?? []);
    while (steps.length > 0) {
      const next: Step[] = [];
      for (const step of steps) {
        const found = this.#before(step, seen);
        const foreign = found.filter(({ principal }) => !this.#intended.has(principal));
        chains.push(...foreign.map((one) => (
          { principal: one.principal.name, through: step.through, verdict: one.verdict }
        )));
        if (chains.length >= MAX_CHAINS) return chains.slice(0, MAX_CHAINS);
        next.push(...found.flatMap(({ principal }) => this.#step(principal, step) ?? []));
      }
      steps = next;
    }
    return chains;
  }

  /** Returns the step to a role of the exports that can assume the role of another step. */
  #step(principal: Caller, to: Step): Step | null {
    const isRole = principal.kind === "role" && to.through.length < MAX_CHAIN;
    if (!isRole || this.trustedBy(principal.name).length === 0) return null;
    const verdict = this.#verdict(principal, to);
    return verdict === "no" ? null : { role: principal.name, through: [principal.name, ...to.through], verdict };
  }

  /** Returns those who can assume the role of a step, and whom no other step has found. */
  #before(step: Step, seen: Set<string>): Found[] {
    return this.trustedBy(step.role).flatMap((principal) => {
      const verdict = seen.has(principal.name) ? "no" : this.#verdict(principal, step);
      if (verdict === "no") return [];
      seen.add(principal.name);
      return [{ principal, verdict }];
    });
  }

  /** Returns everyone whom the trust policy of a role lets in; [] if it is not valid or not in the exports. */
  trustedBy(arn: string): readonly Caller[] {
    const known = this.#trusted.get(arn);
    if (known !== undefined) return known;
    const trust = this.#data.role(arn)?.trust ?? null;
    const policy = trust === null ? null : this.#data.parse(trust, "trust").policy;
    const callers = policy === null ? [] : trustedBy(policy).map((one) => this.#shared(one));
    this.#trusted.set(arn, callers);
    return callers;
  }

  /** Returns one object for all roles that trust a caller, without the statements, which take ten times the memory. */
  #shared({ kind, name, accountID, isDelegated }: Trusted): Caller {
    const known = this.#callers.get(name);
    if (known?.isDelegated === isDelegated && known.kind === kind) return known;
    const caller = { kind, name, accountID, isDelegated };
    this.#callers.set(name, caller);
    return caller;
  }

  /** Whether a principal can take a step, and the steps after it. */
  #verdict(principal: Caller, { role, verdict: after }: Step): Answer {
    if (principal.kind !== "role" && principal.kind !== "user") {
      return OUTSIDE.has(principal.kind) ? after : "unknown";
    }
    const own = this.#decide(principal, role);
    return own === "yes" ? after : own;
  }

  /** Whether the policies of a role or user let it assume a role that trusts it. */
  #decide({ kind, name, isDelegated, accountID }: Caller, role: string): Answer {
    const known = kind === "role" ? this.#data.role(name) : null;
    const isAlone = !isDelegated && accountID === accountIn(role);
    const simple = known === null ? null : this.#decideByText(known, role, isAlone);
    if (simple !== null) return simple;
    const statement = { Effect: "Allow", Principal: { AWS: isDelegated ? accountID : name }, Action: "sts:AssumeRole" };
    return decideWithTrust(name, { role, trustPolicy: { Statement: statement } }, this.#existing);
  }

  /** Returns the answer that the texts of the caller's policies show, or null. `isAlone`: the trust policy suffices. */
  #decideByText({ inline, attached, boundary, gaps }: IAMRole, role: string, isAlone: boolean): Answer | null {
    if (gaps.length > 0) return null;
    const documents = [...inline.map(({ document }) => document), ...attached.map((arn) => this.#data.policy(arn))];
    if (isAlone) {
      const isFree = boundary === null && documents.every((one) => one !== null && !canDeny(one));
      return isFree ? "yes" : null;
    }
    return documents.every((one) => one !== null && !canAllow(one, role)) ? "no" : null;
  }
}

/** Whom the trust policy alone lets in. */
const OUTSIDE: ReadonlySet<Trusted["kind"]> = new Set(["any", "service", "provider"]);
