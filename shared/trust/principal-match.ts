import { type Caller, isInIAM, type SessionCaller, type UserCaller } from "./assume-role-call.ts";
import type { Statement } from "./policy-document.ts";
import type { Principal } from "./policy-principal.ts";
import { allOf, anyOf, known, type Match, NO, not, unknown, YES } from "./three-values.ts";

/**
 * How a trust policy names the caller. It decides what else must allow the call:
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/access_policies_boundaries.html
 */
export type Naming = "service" | "session" | "role" | "user" | "account" | "any";

/** Whether one principal of a statement is the caller. */
export interface NamedCaller {
  readonly naming: Naming;
  readonly match: Match;
}

/** What the matching of principals needs to know of a request. */
export interface PrincipalContext {
  readonly caller: Caller;
  /** Whether the caller has a permissions boundary. */
  readonly hasBoundary: Match;
}

/** Returns an entry for each principal of a statement with `Principal` that can be the caller. */
export function namedCallers({ principals, effect }: Statement, { caller }: PrincipalContext): NamedCaller[] {
  return principals.items.flatMap((principal) => {
    const match = matchPrincipal(principal, caller);
    // IAM stores no invalid principal. It is nobody in an Allow, and may be anyone in a Deny.
    const isNobody = match.answer === "no" || (principal.kind === "invalid" && effect === "Allow");
    return isNobody ? [] : [{ naming: namingOf(principal), match }];
  });
}

function namingOf({ kind }: Principal): Naming {
  return kind === "id" || kind === "federated" || kind === "invalid" || kind === "wildcard" ? "any" : kind;
}

/** Whether the principals of a statement contain the caller. */
export function matchesPrincipals(statement: Statement, context: PrincipalContext): Match {
  const { principals, effect } = statement;
  if (!principals.isNegated) return anyOf(namedCallers(statement, context).map(({ match }) => match));
  const excluded = isExcluded(principals.items, context);
  // IAM does not support NotPrincipal with Allow, so it is never certain that such a statement allows.
  if (effect === "Allow") return excluded.answer === "yes" ? NO : unknown("effect of NotPrincipal with Allow");
  const isOther = !isInIAM(context.caller) && excluded.answer === "no";
  if (isOther) return unknown("whether NotPrincipal contains services and identity providers");
  return not(allOf([excluded, not(context.hasBoundary)]));
}

/**
 * Whether `NotPrincipal` lists the caller. Services may compare the account and the role before the session, so the
 * list should have all of them. A pattern is nobody:
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_notprincipal.html
 */
function isExcluded(items: readonly Principal[], { caller }: PrincipalContext): Match {
  if (items.some(({ kind }) => kind === "invalid")) return unknown("principal that IAM does not accept");
  const isListed = (isOfKind: (principal: Principal) => boolean): Match => (
    anyOf(items.filter(isOfKind).map((principal) => matchPrincipal(principal, caller)))
  );
  const isWhole = ({ kind }: Principal): boolean => kind === "any" || (kind === "service" && caller.kind === "service");
  const whole = isListed(isWhole);
  const account = isListed(({ kind }) => kind === "account");
  const own = isListed(({ kind }) => kind === "role" || kind === "user");
  const both = anyOf([whole, allOf([account, own])]);
  const either = anyOf([whole, account, own, isListed(({ kind }) => kind === "session")]);
  return both.answer === either.answer ? both : unknown("effect of NotPrincipal without the account or the role");
}

/** Whether a principal is the caller. */
function matchPrincipal(principal: Principal, caller: Caller): Match {
  if (principal.kind === "invalid") return unknown("principal that IAM does not accept");
  if (caller.kind === "token") return matchToken(principal, caller.provider);
  // IAM shows a unique ID only if the role or user with this ID has been deleted.
  if (principal.kind === "id" || principal.kind === "federated" || principal.kind === "wildcard") return NO;
  if (caller.kind === "service") return matchService(principal, caller.name);
  if (principal.kind === "any") return YES;
  if (principal.kind === "service") return NO;
  return principal.kind === "account" ? isInAccount(principal, caller) : isNamed(principal, caller);
}

function isNamed({ kind, arn }: Extract<Principal, { arn: string }>, caller: SessionCaller | UserCaller): Match {
  if (caller.kind === "user") return known(kind === "user" && caller.arn === arn);
  if (kind === "user") return NO;
  return kind === "role" ? isRole(arn, caller) : isSession(arn, caller);
}

function matchService(principal: Principal, name: string): Match {
  if (principal.kind === "any") return unknown("whether Principal * contains services");
  return known(principal.kind === "service" && principal.name === name);
}

/** AWS documents neither a wildcard for identity providers nor whether `*` contains them. */
function matchToken(principal: Principal, provider: string): Match {
  const isOpen = principal.kind === "any" || (principal.kind === "wildcard" && principal.type === "Federated");
  if (isOpen) return unknown("whether Principal * contains identity providers");
  return known(principal.kind === "federated" && principal.name === provider);
}

function isInAccount(
  { partition, accountID }: Extract<Principal, { kind: "account" }>, caller: SessionCaller | UserCaller,
): Match {
  return known(caller.accountID === accountID && (partition === null || partition === caller.partition));
}

function isRole(arn: string, { roleARN, roleName, partition, accountID }: SessionCaller): Match {
  if (roleARN !== null) return known(arn === roleARN);
  const isPossible = arn.startsWith(`arn:${partition}:iam::${accountID}:role/`) && arn.endsWith(`/${roleName}`);
  return isPossible ? unknown(`path of the role ${roleName}`) : NO;
}

function isSession(arn: string, { partition, accountID, roleName, sessionName }: SessionCaller): Match {
  const role = `arn:${partition}:sts::${accountID}:assumed-role/${roleName}/`;
  if (!arn.startsWith(role)) return NO;
  return sessionName === null ? unknown("session name of the caller") : known(arn === `${role}${sessionName}`);
}
