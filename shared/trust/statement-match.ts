import type { Action, Request } from "./assume-role-call.ts";
import { type Condition, evaluateCondition } from "./condition.ts";
import type { Statement } from "./policy-document.ts";
import { type LookUp, resolveTemplate, type Template } from "./policy-variables.ts";
import { matchesPrincipals, namedCallers, type Naming, type PrincipalContext } from "./principal-match.ts";
import { allOf, anyOf, known, type Match, not, unknown } from "./three-values.ts";
import { matchesAction, matchesResource } from "./wildcard-pattern.ts";

/** The request for the authorization of one action, as statements are compared with it. */
export interface ActionRequest extends PrincipalContext {
  readonly request: Request;
  readonly action: Action;
  readonly lookUp: LookUp;
}

/** Whether a statement applies to an action of a request. */
export interface StatementMatch {
  readonly statement: Statement;
  readonly match: Match;
  /** How a trust policy names the caller; [] in another policy, and for `NotPrincipal`. */
  readonly namings: readonly { readonly naming: Naming; readonly match: Match }[];
  /** The conditions that are not true, if the statement otherwise applies. */
  readonly failed: readonly Condition[];
}

/** Matches a statement of a trust policy. Returns null if the statement is not about the caller and the action. */
export function matchTrustStatement(statement: Statement, context: ActionRequest): StatementMatch | null {
  const covers = coversAction(statement, context.action);
  const principal = matchesPrincipals(statement, context);
  if (!covers || principal.answer === "no") return null;
  const { match, failed } = matchConditions(statement, context.lookUp);
  const namings = statement.principals.isNegated ? [{ naming: "any", match: principal } as const]
    : namedCallers(statement, context);
  return {
    statement, failed, match: allOf([principal, match]),
    namings: namings.map((one) => ({ ...one, match: allOf([one.match, match]) })),
  };
}

/** Matches a statement of an identity policy, a boundary or a session policy. */
export function matchIdentityStatement(statement: Statement, context: ActionRequest): StatementMatch | null {
  if (!coversAction(statement, context.action)) return null;
  const resource = matchesResources(statement, context);
  if (resource.answer === "no") return null;
  const { match, failed } = matchConditions(statement, context.lookUp);
  return { statement, failed, match: allOf([resource, match]), namings: [] };
}

export function coversAction({ actions }: Statement, action: string): boolean {
  return actions.items.some((pattern) => matchesAction(pattern, action)) !== actions.isNegated;
}

function matchesResources({ resources }: Statement, { request, lookUp }: ActionRequest): Match {
  const found = anyOf(resources.items.map((template) => (
    matchTemplate(template, request.call.role.arn, lookUp, resources.isNegated)
  )));
  return resources.isNegated ? not(found) : found;
}

function matchTemplate(template: Template | null, arn: string, lookUp: LookUp, isNegated: boolean): Match {
  const resolved = template === null ? null : resolveTemplate(template, lookUp);
  if (resolved?.state === "pattern") return matchesResource(resolved.pattern, arn);
  if (resolved?.state === "unknown") return unknown(`\${${resolved.variable}}`);
  // It matches no resource. AWS does not say whether NotResource then contains every resource.
  return isNegated ? unknown("variable of NotResource without a value") : known(false);
}

function matchConditions({ conditions }: Statement, lookUp: LookUp): Pick<StatementMatch, "match" | "failed"> {
  const results = conditions.map((condition) => ({ condition, match: evaluateCondition(condition, lookUp) }));
  return {
    match: allOf(results.map(({ match }) => match)),
    failed: results.filter(({ match }) => match.answer === "no").map(({ condition }) => condition),
  };
}
