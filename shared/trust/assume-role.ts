import { type Action, actionsOf, isInIAM, type Request } from "./assume-role-call.ts";
import { acceptanceOf } from "./call-limits.ts";
import type { Condition } from "./condition.ts";
import type { Naming } from "./principal-match.ts";
import { keysOf } from "./request-keys.ts";
import {
  allowedBy, type AppliedStatement, deniedBy, evaluateSide, type PolicySource, type Side, type SideEvaluation,
} from "./side-evaluation.ts";
import type { ActionRequest } from "./statement-match.ts";
import { type TrustHint, trustHint } from "./trust-hint.ts";
import { allOf, type Answer, anyOf, type Match, not, unknown, YES } from "./three-values.ts";

/** The policies that decide whether a caller can assume a role. SCPs, RCPs and endpoint policies are not known. */
export interface Policies {
  readonly trust: PolicySource;
  /** Inline, attached and group policies of the caller. Empty for a service. */
  readonly identity: readonly PolicySource[];
  /** Null if the caller has none. A source without a document if it is not known whether the caller has one. */
  readonly boundary: PolicySource | null;
  /** The session policies of the caller's session. Empty if it has none. */
  readonly session: readonly PolicySource[];
  /** Whether the caller has a boundary. */
  readonly hasBoundary: Match;
}

/** Why an action has its verdict, as data. `verdict-text.ts` makes a sentence of it. */
export type Reason =
  | { readonly kind: "allowed" }
  | { readonly kind: "denied"; readonly side: Side }
  /** `sides` must allow the call too if the trust policy names the caller. */
  | { readonly kind: "not trusted"; readonly hint: TrustHint | null; readonly sides: readonly Side[] }
  /** The conditions of the statement that is nearest to allow the call, and the sides that do not allow it either. */
  | { readonly kind: "condition"; readonly conditions: readonly Condition[]; readonly sides: readonly Side[] }
  | { readonly kind: "not allowed"; readonly sides: readonly Side[] }
  | { readonly kind: "missing" }
  | { readonly kind: "rejected"; readonly text: string; readonly fix: string | null };

export interface ActionDecision {
  readonly action: Action;
  readonly verdict: Answer;
  readonly reason: Reason;
  /** The statements that decide, or that would decide if the missing input were known. */
  readonly statements: readonly AppliedStatement[];
  readonly missing: readonly string[];
}

export interface Decision {
  readonly verdict: Answer;
  readonly actions: readonly ActionDecision[];
  readonly missing: readonly string[];
}

/**
 * Decides whether a caller can assume a role. Each action is authorized on its own: the role can be assumed if every
 * action is allowed. `maxSessionSeconds` is null if it is not known.
 */
export function decideAssumeRole(
  request: Request, policies: Policies, maxSessionSeconds: number | null = null,
): Decision {
  const acceptance = acceptanceOf(request, maxSessionSeconds);
  const { answer, missing } = acceptance.match;
  if (answer === "no") return rejectedDecision(acceptance.reason);
  const actions = actionsOf(request).map((action) => decideAction(action, request, policies));
  if (answer === "yes") return decisionOf(actions);
  // STS can still reject the call. Says so at the first action, unless that is denied anyway.
  const perhaps = rejected("unknown", acceptance.reason, missing);
  const [first = perhaps, ...others] = actions;
  const both = first.verdict === "no" ? first : { ...first, missing: [...first.missing, ...missing] };
  return decisionOf([first.verdict === "yes" ? perhaps : both, ...others]);
}

/** Returns the decision for a call that no policy can allow. The text can contain the fix. */
export function rejectedDecision(text: string, fix: string | null = null): Decision {
  return decisionOf([{ ...rejected("no", text, []), reason: { kind: "rejected", text, fix } }]);
}

function rejected(verdict: Answer, text: string, missing: readonly string[]): ActionDecision {
  return { action: "sts:AssumeRole", verdict, reason: { kind: "rejected", text, fix: null }, statements: [], missing };
}

function decisionOf(actions: readonly ActionDecision[]): Decision {
  const { answer, missing } = allOf(actions.map((one) => ({ answer: one.verdict, missing: one.missing })));
  return { verdict: answer, actions, missing };
}

/** The evaluation of every side for one action. */
interface Evaluation {
  readonly context: ActionRequest;
  readonly trust: SideEvaluation;
  readonly limits: Readonly<Record<Exclude<Side, "trust">, Limit>>;
}

/** A side other than the trust policy. */
interface Limit {
  readonly side: SideEvaluation;
  /** Whether the side allows, or has no policies that limit. */
  readonly allows: Match;
}

function decideAction(action: Action, request: Request, policies: Policies): ActionDecision {
  const context: ActionRequest = {
    request, action, caller: request.caller, lookUp: keysOf(request, action), hasBoundary: policies.hasBoundary,
  };
  const limit = (sources: readonly PolicySource[], isOptional: boolean): Limit => {
    const side = evaluateSide(sources, context);
    return { side, allows: isOptional && sources.length === 0 ? YES : allowedBy(side) };
  };
  const evaluation: Evaluation = {
    context, trust: evaluateSide([policies.trust], context),
    limits: {
      identity: limit(policies.identity, false),
      boundary: limit(policies.boundary === null ? [] : [policies.boundary], true),
      session: limit(policies.session, true),
    },
  };
  return explain(evaluation, grantsOf(evaluation));
}

/** A statement of the trust policy that allows the caller if the other sides do what its naming demands. */
interface Grant {
  readonly statement: AppliedStatement | null;
  readonly match: Match;
  /** The other sides that must allow. */
  readonly needs: readonly Exclude<Side, "trust">[];
}

function grantsOf(evaluation: Evaluation): Grant[] {
  const stated = evaluation.trust.allows.flatMap((statement) => statement.namings.map(({ naming, match }): Grant => {
    const needs = needsOf(naming, evaluation.context.request);
    return { statement, needs, match: allOf([match, outcomeOf(naming, statement, evaluation)]) };
  }));
  // A trust policy that is not known may name the caller in any way.
  const unread = evaluation.trust.gaps.map((gap): Grant => {
    const needs = needsOf("session", evaluation.context.request);
    return { statement: null, needs, match: allOf([gap, ...needs.map((side) => evaluation.limits[side].allows)]) };
  });
  return [...stated, ...unread];
}

const EVERY_LIMIT = ["identity", "boundary", "session"] as const;

/** Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/access_policies_boundaries.html */
function needsOf(naming: Naming, request: Request): Grant["needs"] {
  if (!isInIAM(request.caller)) return [];
  if (!isSameAccount(request) || naming === "account") return EVERY_LIMIT;
  return naming === "role" ? ["boundary", "session"] : [];
}

export function isSameAccount({ caller, call }: Request): boolean {
  return isInIAM(caller) && call.role.accountID === caller.accountID;
}

/** Whether the other sides do what a grant needs. */
function outcomeOf(naming: Naming, { statement }: AppliedStatement, evaluation: Evaluation): Match {
  const { limits, context: { request, action } } = evaluation;
  const needs = needsOf(naming, request);
  const parts = needs.map((side) => limits[side].allows);
  if (isSameAccount(request) && needs.length < EVERY_LIMIT.length) {
    const isSession = request.caller.kind === "session";
    const isDirect = naming === "session" || (naming === "any" && isSession && isLimitedToARN(statement.conditions));
    if (!isDirect) parts.push(withoutLimit(naming, limits));
    // AWS documents that role chaining needs the action on both sides.
    const isChained = action === "sts:SetSourceIdentity" && isSession;
    if (isChained && limits.identity.allows.answer !== "yes") {
      parts.push(unknown("whether the trust policy alone allows sts:SetSourceIdentity in one account"));
    }
  }
  return allOf(parts);
}

/**
 * AWS documents both that the boundary of a user limits a direct grant in the same account and that it does not, and
 * documents nothing for `*` without a condition on the ARN.
 */
function withoutLimit(naming: Naming, { boundary, session }: Evaluation["limits"]): Match {
  const { answer } = allOf([boundary.allows, session.allows]);
  if (answer === "yes" || naming === "role") return YES;
  const grantee = naming === "user" ? "a user" : "*";
  return unknown(`whether a permissions boundary or session policy limits a grant to ${grantee}`);
}

const POSITIVE = /^(arn(equals|like)|string(equals|like))$/i;

/** Whether a condition demands the ARN of the caller or a pattern of it. */
function isLimitedToARN(conditions: AppliedStatement["statement"]["conditions"]): boolean {
  return conditions.some(({ key, operatorText, values }) => (
    key.toLowerCase() === "aws:principalarn" && POSITIVE.test(operatorText) && !values.some((one) => one.includes("$"))
  ));
}

function explain(evaluation: Evaluation, grants: readonly Grant[]): ActionDecision {
  const { context: { action }, trust, limits } = evaluation;
  const sides = [trust, ...EVERY_LIMIT.map((side) => limits[side].side)];
  const allowed = anyOf(grants.map(({ match }) => match));
  const denied = anyOf(sides.map(deniedBy));
  const { answer: verdict, missing } = allOf([allowed, not(denied)]);
  const denies = sides.flatMap((side) => side.denies);
  const base = { action, verdict, missing };
  const deciding = denies.filter(({ match }) => match.answer === "yes");
  const [deny] = deciding;
  if (deny !== undefined) {
    return { ...base, statements: deciding, reason: { kind: "denied", side: deny.source.side } };
  }
  if (verdict === "no") return { ...base, ...whyNot(evaluation, grants) };
  const best = grants.filter(({ match }) => match.answer === allowed.answer).slice(0, 1);
  const allows = best.flatMap(({ statement, needs }) => [
    statement ?? [], needs.flatMap((side) => limits[side].side.allows).filter(isPossible),
  ].flat());
  const statements = [...allows, ...denies.filter(isPossible)];
  return { ...base, statements, reason: { kind: verdict === "yes" ? "allowed" : "missing" } };
}

type Explanation = Pick<ActionDecision, "reason" | "statements">;

function isPossible({ match }: AppliedStatement): boolean {
  return match.answer !== "no";
}

/** Explains why no grant allows an action that no policy denies. */
function whyNot({ trust, limits, context }: Evaluation, grants: readonly Grant[]): Explanation {
  const trusted = grants.filter(({ statement }) => statement === null || statement.match.answer !== "no");
  if (trusted.length > 0) {
    const needed = EVERY_LIMIT.filter((side) => trusted.some(({ needs }) => needs.includes(side)));
    const sides = needed.filter((side) => limits[side].allows.answer === "no");
    const statements = [...trusted.flatMap(({ statement }) => statement ?? []), ...sides.flatMap((side) => (
      limits[side].side.allows
    ))];
    return { reason: { kind: "not allowed", sides }, statements };
  }
  const statements = trust.allows.filter(({ failed }) => failed.length > 0);
  const nearest = statements.toSorted((a, b) => a.failed.length - b.failed.length)[0];
  const { request } = context;
  const byARN = [request.caller.kind === "user" ? "user" : "role"] as const;
  const namings = nearest === undefined ? byARN : nearest.namings.map(({ naming }) => naming);
  const needs = EVERY_LIMIT.filter((side) => namings.every((naming) => needsOf(naming, request).includes(side)));
  if (nearest === undefined) {
    const sides = needs.filter((side) => side === "identity" || limits[side].allows.answer === "no");
    return { reason: { kind: "not trusted", hint: trustHint(trust.statements, context), sides }, statements };
  }
  const sides = needs.filter((side) => limits[side].allows.answer === "no");
  return { reason: { kind: "condition", conditions: nearest.failed, sides }, statements };
}
