import { compareText } from "../formats/text.ts";
import type { Policy, Statement } from "./policy-document.ts";
import { ANY_PROVIDER, ANYONE, contains, type Entrant, entrantOf } from "./entrant.ts";
import { narrowed } from "./entrant-conditions.ts";
import { coversAction } from "./statement-match.ts";

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
