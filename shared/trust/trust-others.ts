import { listOf } from "../formats/text.ts";
import type { Intended } from "./intended.ts";
import type { Policy, Statement } from "./policy-document.ts";
import { type Advice, adviceOf, limitsCallers } from "./trust-advice.ts";
import { type Trusted, trustedBy } from "./trusted.ts";
import { TRUST_CODES, type TrustCode } from "./trust-code.ts";
import type { TrustProblem } from "./trust-problem.ts";

/** Returns a problem for each kind of others that a trust policy lets in, with what is wrong with letting them in. */
export function otherProblems(policy: Policy, intended: Intended): readonly TrustProblem[] {
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
export function deletedProblem({ statements }: Policy): TrustProblem | null {
  const ids = statements.filter(({ effect }) => effect === "Allow").flatMap(({ principals: { items } }) => items)
    .flatMap((principal) => (principal.kind === "id" ? [principal.id] : []));
  if (ids.length === 0) return null;
  const message = `the trust policy contains the unique ID of a deleted role or user: ${listOf([...new Set(ids)])}`;
  return { code: TRUST_CODES.deleted, message, fix: null, isHarmless: true };
}
