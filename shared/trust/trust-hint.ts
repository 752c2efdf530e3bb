import { type Caller, isInIAM } from "./assume-role-call.ts";
import type { Statement } from "./policy-document.ts";
import type { Principal } from "./policy-principal.ts";
import { namedCallers } from "./principal-match.ts";
import { type ActionRequest, coversAction } from "./statement-match.ts";

/**
 * Why a trust policy allows a caller nothing, if a statement nearly does: it names the caller for other actions, the
 * role assumes itself, the ARN has another path, the principal has been deleted, or its ARN contains a wildcard.
 */
export type TrustHint = "action" | "self" | "path" | "deleted" | "wildcard";

/** Returns the hint for a policy of which no statement applies, or null. */
export function trustHint(statements: readonly Statement[], context: ActionRequest): TrustHint | null {
  const { caller, request, action } = context;
  const allows = statements.filter(({ effect, principals }) => effect === "Allow" && !principals.isNegated);
  if (allows.some((statement) => namedCallers(statement, context).length > 0)) return "action";
  if (arnOf(caller) === request.call.role.arn) return "self";
  const principals = allows.filter((one) => coversAction(one, action)).flatMap((one) => one.principals.items);
  if (principals.some((principal) => hasOtherPath(principal, caller))) return "path";
  if (principals.some(({ kind }) => kind === "id")) return "deleted";
  return principals.some(({ kind }) => kind === "wildcard" || kind === "invalid") ? "wildcard" : null;
}

function arnOf(caller: Caller): string | null {
  if (!isInIAM(caller)) return null;
  return caller.kind === "user" ? caller.arn : caller.roleARN;
}

/** Whether a principal is the caller, apart from the path. */
function hasOtherPath(principal: Principal, caller: Caller): boolean {
  const arn = arnOf(caller);
  if (arn === null || (principal.kind !== "role" && principal.kind !== "user")) return false;
  return withoutPath(principal.arn) === withoutPath(arn);
}

function withoutPath(arn: string): string {
  return arn.slice(0, arn.indexOf("/")) + arn.slice(arn.lastIndexOf("/"));
}
