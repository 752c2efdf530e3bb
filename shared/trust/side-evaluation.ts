import { formatFieldPath } from "../formats/json.ts";
import type { ParsedPolicy, Statement } from "./policy-document.ts";
import {
  type ActionRequest, matchIdentityStatement, matchTrustStatement, type StatementMatch,
} from "./statement-match.ts";
import { anyOf, type Match, unknown } from "./three-values.ts";

/** What a policy is attached to: the role, the caller, or the caller as a limit. */
export type Side = "trust" | "identity" | "boundary" | "session";

/** A policy that an authorization reads. */
export interface PolicySource {
  readonly side: Side;
  /** The name of an inline policy, or the ARN of another one. For a trust policy, the ARN of the role. */
  readonly name: string;
  /** Null if the input does not contain the document. */
  readonly parsed: ParsedPolicy | null;
}

/** A statement that applies to an action, or that may apply. */
export interface AppliedStatement extends StatementMatch {
  readonly source: PolicySource;
}

/** What the policies of one side say about an action. */
export interface SideEvaluation {
  /** All statements, also those that are not about the action. */
  readonly statements: readonly Statement[];
  readonly allows: readonly AppliedStatement[];
  readonly denies: readonly AppliedStatement[];
  /** Whether a statement of a document that is missing or invalid applies. */
  readonly gaps: readonly Match[];
}

export function evaluateSide(sources: readonly PolicySource[], context: ActionRequest): SideEvaluation {
  const all = sources.flatMap((source) => (
    (source.parsed?.policy?.statements ?? []).map((statement) => ({ source, statement }))
  ));
  const applied = all.flatMap(({ source, statement }) => {
    const match = matchStatement(source.side, statement, context);
    return match === null ? [] : [{ ...match, source }];
  });
  const unread = sources.filter(({ parsed }) => (parsed?.policy ?? null) === null);
  const gaps = unread.map((source) => unknown(missingText(source)));
  return {
    statements: all.map(({ statement }) => statement),
    allows: applied.filter(({ statement }) => statement.effect === "Allow"),
    denies: applied.filter(({ statement }) => statement.effect === "Deny"),
    gaps,
  };
}

function matchStatement(side: Side, statement: Statement, context: ActionRequest): StatementMatch | null {
  return side === "trust" ? matchTrustStatement(statement, context) : matchIdentityStatement(statement, context);
}

const SIDES: Readonly<Record<Side, string>> = {
  trust: "trust policy", identity: "identity policy", boundary: "permissions boundary", session: "session policy",
};

export function nameOfSide(side: Side): string {
  return SIDES[side];
}

function missingText({ side, name, parsed }: PolicySource): string {
  const policy = `${SIDES[side]} ${name}`;
  const fault = parsed?.fault ?? null;
  if (fault === null) return policy;
  const path = formatFieldPath(fault.path);
  return `valid ${policy} (${path === "" ? "" : `${path}: `}${fault.message})`;
}

/** Whether the policies of a side allow, apart from denies. */
export function allowedBy({ allows, gaps }: SideEvaluation): Match {
  return anyOf([...allows.map(({ match }) => match), ...gaps]);
}

/** Whether a policy of a side denies explicitly. */
export function deniedBy({ denies, gaps }: SideEvaluation): Match {
  return anyOf([...denies.map(({ match }) => match), ...gaps]);
}
