import { compareText } from "../formats/text.ts";
import type { Policy, Statement } from "./policy-document.ts";
import { accountEntrant, accountIn, ANY_PROVIDER, ANYONE, contains, type Entrant, entrantOf } from "./entrant.ts";
import { coversAction } from "./statement-match.ts";
import { ACCOUNT_ID, type ARN, parseARN } from "../formats/arn.ts";
import { type Condition, evaluateCondition } from "./condition.ts";
import { parsePrincipal } from "./policy-principal.ts";
import type { LookUp } from "./policy-variables.ts";
import { ABSENT, present, startsWith, UNKNOWN } from "./request-keys.ts";
import { matches, wildcards } from "./wildcard-pattern.ts";

/** Someone whom a trust policy lets in, and how. */
export interface Trusted extends Entrant {
  /** Whether the caller's account must allow the call too, because the policy names only the account. */
  readonly isDelegated: boolean;
  /** The statements that let it in, without those that are denied. */
  readonly statements: readonly Statement[];
}

/** The actions that make a session of a role. `sts:TagSession` alone lets nobody in. */
const WAYS = ["sts:AssumeRole", "sts:AssumeRoleWithSAML", "sts:AssumeRoleWithWebIdentity"] as const;
type Way = (typeof WAYS)[number];

/**
 * Returns everyone whom a trust policy lets in, each once and sorted by name. A deny without conditions removes those
 * for whom it certainly applies. Other conditions than those on the ARN and the account of the caller are not read,
 * because anyone may fulfil them one day.
 */
export function trustedBy({ statements }: Policy): Trusted[] {
  const denies = statements.filter(({ effect, conditions }) => effect === "Deny" && conditions.length === 0);
  const found = new Map<string, Trusted>();
  for (const statement of statements) {
    if (statement.effect !== "Allow") continue;
    for (const { entrant, isDelegated } of admittedBy(statement, denies)) {
      const before = found.get(entrant.name);
      const { kind, name, accountID } = entrant;
      found.set(name, {
        kind, name, accountID, isDelegated: isDelegated && before?.isDelegated !== false,
        statements: before === undefined ? [statement] : [...new Set([...before.statements, statement])],
      });
    }
  }
  return [...found.values()].toSorted((a, b) => compareText(a.name, b.name));
}

interface Admitted {
  readonly entrant: Entrant;
  readonly isDelegated: boolean;
}

/** Returns those whom a statement lets in by an action that no deny removes. */
function admittedBy(statement: Statement, denies: readonly Statement[]): Admitted[] {
  const ways = WAYS.filter((way) => coversAction(statement, way)).map((way) => (
    { way, denies: denies.filter((deny) => coversAction(deny, way)) }
  ));
  if (ways.length === 0) return [];
  return named(statement).flatMap((one) => {
    const usable = ways.filter(({ way }) => canUse(one, way));
    if (usable.length === 0) return [];
    const isDelegated = one.kind === "account";
    return narrowed(one, statement.conditions).flatMap((entrant) => {
      const isRemoved = usable.every((way) => way.denies.some((deny) => removes(deny, entrant)));
      return isRemoved ? [] : [{ entrant, isDelegated }];
    });
  });
}

/** Returns those whom `Principal` names. `NotPrincipal` names all others, who have no name. */
function named({ principals }: Statement): Entrant[] {
  if (principals.isNegated) return [ANYONE];
  return principals.items.flatMap((principal) => entrantOf(principal) ?? []);
}

/** Whether an entrant can call an action. `*` by SAML or with a web identity is any user of any provider. */
function canUse({ kind, name }: Entrant, way: Way): boolean {
  if (kind === "any") return true;
  if (kind !== "provider") return way === "sts:AssumeRole";
  if (name === ANY_PROVIDER.name) return way !== "sts:AssumeRole";
  return way === (name.includes(":saml-provider/") ? "sts:AssumeRoleWithSAML" : "sts:AssumeRoleWithWebIdentity");
}

/**
 * Whether a deny certainly applies to everyone for whom an entrant stands. AWS does not document whether `*` and
 * NotPrincipal contain services and identity providers.
 */
function removes({ principals: { isNegated, items } }: Statement, entrant: Entrant): boolean {
  const listed = items.flatMap((principal) => entrantOf(principal) ?? []);
  const isInAccount = entrant.kind !== "service" && entrant.kind !== "provider";
  if (!isNegated) return listed.some((one) => contains(one, entrant) && (isInAccount || one.kind !== "any"));
  const isCertain = isInAccount && items.every(({ kind }) => kind !== "invalid");
  return isCertain && !listed.some((one) => contains(one, entrant) || contains(entrant, one));
}

/**
 * Returns those for whom an entrant stands and who fulfil the conditions on `aws:PrincipalArn` and
 * `aws:PrincipalAccount`. Other conditions depend on the call or on what only AWS knows. `*` and an account become the
 * values of a condition that demands them.
 */
function narrowed(entrant: Entrant, conditions: readonly Condition[]): readonly Entrant[] {
  const relevant = conditions.filter(({ key }) => KEYS.has(key.toLowerCase()));
  if (relevant.length === 0) return [entrant];
  return relevant.reduce<readonly Entrant[]>((left, condition) => (
    distinct(left.flatMap((one) => narrowedBy(one, condition)))
  ), [entrant]);
}

/** Several values can leave the same entrant, and each further condition would multiply its copies. */
function distinct(entrants: readonly Entrant[]): readonly Entrant[] {
  return [...new Map(entrants.map((one) => [`${one.kind} ${one.name}`, one])).values()];
}

const ARN_KEY = "aws:principalarn";
const KEYS: ReadonlySet<string> = new Set([ARN_KEY, "aws:principalaccount"]);

function narrowedBy(entrant: Entrant, condition: Condition): readonly Entrant[] {
  const { kind } = entrant;
  if (kind === "provider") return [entrant];
  if (kind === "role" || kind === "user" || kind === "session" || kind === "service") {
    return evaluateCondition(condition, keysOfEntrant(entrant)).answer === "no" ? [] : [entrant];
  }
  if (!demandsValue(condition)) return [entrant];
  const isARN = condition.key.toLowerCase() === ARN_KEY;
  return condition.values.flatMap((value, i) => {
    const hasVariable = condition.templates[i]?.some((part) => "key" in part) !== false;
    if (hasVariable) return [entrant];
    return isARN ? withARN(entrant, value, condition) : withAccount(entrant, value, condition);
  });
}

/** Whether a condition is true only if the key has one of the values. */
function demandsValue({ operator, templates }: Condition): boolean {
  return operator !== null && !operator.isNegated && !operator.ifExists && operator.set !== "all"
    && templates.length > 0;
}

/** Returns the keys of a caller of which nothing but the name is known. */
function keysOfEntrant({ kind, name, accountID }: Entrant): LookUp {
  const [, partition = ""] = name.split(":", 2);
  const ofARN = kind === "session" ? startsWith(`arn:${partition}:iam::${accountID}:role/`) : present(name);
  return (key) => {
    if (!KEYS.has(key)) return UNKNOWN;
    if (kind === "service") return ABSENT;
    return key === ARN_KEY ? ofARN : present(String(accountID));
  };
}

function hasWildcards(value: string, { operator }: Condition): boolean {
  return (operator?.comparison === "wildcard" || operator?.comparison === "arn") && /[*?]/.test(value);
}

const ALL = /^\*+$/;

function withAccount(entrant: Entrant, value: string, condition: Condition): readonly Entrant[] {
  const { accountID, kind } = entrant;
  if (kind === "any" && hasWildcards(value, condition)) return [entrant];
  if (kind === "any") return ACCOUNT_ID.test(value) ? [accountEntrant(value)] : [];
  if (accountID === null) return [entrant];
  const pattern = hasWildcards(value, condition) ? wildcards(value) : null;
  const isSame = pattern === null ? accountID === value : isMatch(pattern, accountID);
  return isSame ? [entrant] : [];
}

function isMatch(pattern: ReturnType<typeof wildcards>, text: string): boolean {
  return matches(pattern, { text, isPrefix: false }).answer === "yes";
}

function withARN(entrant: Entrant, value: string, condition: Condition): readonly Entrant[] {
  if (!hasWildcards(value, condition)) {
    const found = roleOrUser(value);
    // A value in another case than ARNs have still means somebody.
    if (found.length === 0 && condition.operator?.comparison === "text-ignore-case") return [entrant];
    return found.filter((one) => contains(entrant, one));
  }
  if (ALL.test(value) || entrant.kind === "pattern") return [entrant];
  const arn = parseARN(value);
  if (arn !== null) return withPattern(entrant, arn);
  return entrant.kind === "any" ? [{ kind: "pattern", name: value, accountID: null }] : [entrant];
}

/** The key contains the ARN of a role or a user, and never that of a session or an account. */
function roleOrUser(arn: string): Entrant[] {
  const found = entrantOf(parsePrincipal("AWS", arn));
  return found?.kind === "role" || found?.kind === "user" ? [found] : [];
}

/** Returns the part of a pattern for which `*` or an account stands. */
function withPattern(entrant: Entrant, arn: ARN): readonly Entrant[] {
  const { accountID } = entrant;
  const isInside = accountID === null || isMatch(wildcards(arn.accountID), accountID);
  if (!isInside || !isMatch(wildcards(arn.service), "iam")) return [];
  const name = ["arn", arn.partition, arn.service, arn.region, accountID ?? arn.accountID, arn.resource].join(":");
  const account = accountIn(name);
  if (ALL.test(arn.resource)) return account === null ? [entrant] : [accountEntrant(account)];
  return /[*?]/.test(name) ? [{ kind: "pattern", name, accountID: account }] : roleOrUser(name);
}
