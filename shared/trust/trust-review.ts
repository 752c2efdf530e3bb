import type { RoleTarget } from "../core/role-target.ts";
import { parseRoleARN } from "../formats/arn.ts";
import { listOf } from "../formats/text.ts";
import { callProblems } from "./call-problems.ts";
import type { Intended } from "./intended.ts";
import type { ParsedPolicy, Policy, Statement } from "./policy-document.ts";
import { TRUST_CODES, type TrustCode } from "./trust-code.ts";
import type { TrustProblem } from "./trust-problem.ts";
import { TrustCallers, type TrustInput, type TrustRow } from "./trust-rows.ts";
import { parametersOf, sendsPolicies, sourceRole } from "./trust-target.ts";
import { type Advice, adviceOf, limitsCallers } from "./trust-advice.ts";
import { type Trusted, trustedBy } from "./trusted.ts";

interface ReviewInput extends TrustInput {
  /** Those who are intended to assume roles: the callers, and others. */
  readonly intended: Intended;
}

/** Tells what is wrong with the roles that objects name, with the answers of `trust` and of `trust who`. */
export class TrustReview {
  readonly #input: ReviewInput;
  readonly #callers: TrustCallers;
  /** What is wrong with the trust policy of a role, for all objects that name it. */
  readonly #ofPolicy = new Map<string, readonly TrustProblem[]>();

  /** Throws a QuestionError if a caller is not the ARN of a role or a user. */
  constructor(input: ReviewInput) {
    this.#input = input;
    this.#callers = new TrustCallers(input);
  }

  /** Returns a row for each caller that assumes the role. */
  rowsOf(target: RoleTarget): TrustRow[] {
    return this.#callers.rowsOf(target);
  }

  /** Returns what is wrong with a role. Other checks report a text that is not the ARN of a role. */
  problemsOf(target: RoleTarget): readonly TrustProblem[] {
    if (parseRoleARN(target.roleARN) === null) return [];
    const rows = this.rowsOf(target);
    const own = callProblems(rows);
    const isDenied = own.some(({ code }) => code === TRUST_CODES.deleted);
    const ofPolicy = this.#policyProblems(target).filter(({ code }) => !isDenied || code !== TRUST_CODES.deleted);
    return [...own, ...packedSizeProblems(rows), ...ofPolicy, ...this.#controllerProblems(target)];
  }

  #policyProblems(target: RoleTarget): readonly TrustProblem[] {
    const source = sourceRole(target);
    const key = [target.roleARN, source].join(" ");
    const known = this.#ofPolicy.get(key);
    if (known !== undefined) return known;
    const { data, intended: all } = this.#input;
    const trust = data.role(target.roleARN)?.trust ?? null;
    const intended = all.with(source === null ? [] : [source]);
    const found = trust === null ? [] : problemsOfPolicy(data.parse(trust, "trust"), intended);
    this.#ofPolicy.set(key, found);
    return found;
  }

  #controllerProblems(target: RoleTarget): readonly TrustProblem[] {
    if (!this.#callers.lacksController(target)) return [];
    const message = "no known controller manages what the selector selects, so whether the role can be assumed is open";
    return [{ code: TRUST_CODES.unknown, message, fix: "pass the role of the controller with --caller" }];
  }
}

function problemsOfPolicy({ policy }: ParsedPolicy, intended: Intended): TrustProblem[] {
  return policy === null ? [] : [...otherProblems(policy, intended), deletedProblem(policy) ?? []].flat();
}

/** AWS compresses tags and policies to a size that only STS knows: aws/containers-roadmap#2413. */
function packedSizeProblems(rows: readonly TrustRow[]): TrustProblem[] {
  const inheriting = rows.filter(inheritsTags);
  const sent = [
    ...(inheriting.some(sendsTags) ? ["tags"] : []),
    ...(inheriting.some(({ target, caller }) => sendsPolicies(target, caller)) ? ["a session policy"] : []),
  ];
  if (sent.length === 0) return [];
  const message = `the session has ${listOf(sent)} besides the six tags of EKS Pod Identity, which alone take up to `
    + "74% of the size that STS allows";
  return [{ code: TRUST_CODES.packedSize, message, fix: null }];
}

function inheritsTags({ target, caller }: TrustRow): boolean {
  const hasOtherBase = target.kind === "identity" && target.source?.hasOtherBase === true;
  return caller.credentials === "pod-identity" && !hasOtherBase;
}

function sendsTags({ target, caller }: TrustRow): boolean {
  const inherited = target.kind === "identity" && caller.via === "sidecar" ? target.source?.tags ?? [] : [];
  return inherited.length + parametersOf(target, caller).tags.size > 0;
}

/** Returns a problem for each kind of others that a trust policy lets in, with what is wrong with letting them in. */
function otherProblems(policy: Policy, intended: Intended): readonly TrustProblem[] {
  const others = trustedBy(policy).filter((one) => !intended.has(one)).flatMap((principal) => (
    principal.statements.slice(0, 1).map((statement) => ({
      code: codeOf(principal), name: nameOf(principal), ...adviceAbout(principal, statement, intended),
    }))
  ));
  const groups = Map.groupBy(others, ({ code, problem, fix }) => JSON.stringify([code, problem, fix]));
  return [...groups.values()].flatMap((group) => group.slice(0, 1).map(({ code, problem, fix }) => {
    const names = listOf(group.map(({ name }) => name));
    return { code, message: problem === null ? `others can assume the role: ${names}` : `${names}: ${problem}`, fix };
  }));
}

/** The account of a caller needs no external ID: its ARN is enough. */
function adviceAbout(principal: Trusted, statement: Statement, intended: Intended): TrustAdvice {
  const advice = adviceOf(principal, statement);
  return principal.kind === "account" && intended.isHome(principal.name) ? { ...advice, fix: null } : advice;
}

type TrustAdvice = Pick<Advice, "problem"> & Pick<TrustProblem, "fix">;

function codeOf({ kind, accountID, statements }: Trusted): TrustCode {
  const isOpen = kind === "any" && statements.some((statement) => !limitsCallers(statement));
  if (isOpen || (kind === "pattern" && accountID === null)) return TRUST_CODES.anyone;
  return kind === "account" ? TRUST_CODES.account : TRUST_CODES.others;
}

function nameOf({ kind, name }: Trusted): string {
  if (kind === "any") return "Principal *";
  return kind === "account" ? `account ${name}` : name;
}

/** Returns a warning about the unique IDs that deleted roles and users leave in a trust policy; null without them. */
function deletedProblem({ statements }: Policy): TrustProblem | null {
  const ids = statements.filter(({ effect }) => effect === "Allow").flatMap(({ principals: { items } }) => items)
    .flatMap((principal) => (principal.kind === "id" ? [principal.id] : []));
  if (ids.length === 0) return null;
  const message = `the trust policy contains the unique ID of a deleted role or user: ${listOf([...new Set(ids)])}`;
  return { code: TRUST_CODES.deleted, message, fix: null, isHarmless: true };
}
