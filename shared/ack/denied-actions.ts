import { SESSION_POLICY_ANNOTATION, SESSION_SCOPE_ANNOTATION } from "../core/annotation-keys.ts";
import type { Finding } from "../core/check.ts";
import type { EffectiveSelector } from "../core/effective-selector.ts";
import { coversAction, SCOPES } from "../core/session-scope.ts";
import { isUnrestricted, type ScopeName } from "../core/session.ts";
import { annotationPath, type FieldPath, type JsonObject } from "../formats/json.ts";
import { objectReference } from "../formats/object-meta.ts";
import { printable } from "../formats/text.ts";
import { reportedConditions } from "./resource-conditions.ts";

/**
 * What AWS says of a call that a session policy does not allow. Some services say neither. Source:
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot_access-denied.html
 */
const BY_SESSION_POLICY = /no session policy allows|explicit deny in a session policy/;
const ACTION = /is not authorized to perform: ([a-z0-9-]+:[A-Za-z0-9*]+)/;

/**
 * Returns the actions that the session policies of the selector or its scope deny, as ACK reports them of the resource.
 * `byDefault` is the scope of selectors without the annotation.
 */
export function deniedActions(
  object: JsonObject, { name, extras }: EffectiveSelector, byDefault: ScopeName,
): readonly Finding[] {
  const isAlone = isUnrestricted(extras);
  if (isAlone && extras.scope === "none") return [];
  // Nothing else can have limited a session of a selector without policies: the sidecar has another default.
  const isScoped = isAlone || (extras.scope ?? byDefault) === "service";
  const { group } = objectReference(object);
  return reportedConditions(object).filter(({ text }) => BY_SESSION_POLICY.test(text)).map(({ type, text }) => {
    const action = ACTION.exec(text)?.[1] ?? null;
    const isOutside = isScoped && (isAlone || !isInScope(group, action));
    const cause = isOutside ? outsideScope(name, group, action) : outsidePolicies(name, action);
    return { code: type, severity: "deny", message: text, waivable: false, waived: false, ...cause };
  });
}

function isInScope(group: string, action: string | null): boolean {
  const scope = SCOPES.get(group);
  if (scope === undefined || action === null) return true;
  const all = [...scope.actions, ...scope.foreign.flatMap(({ actions }) => actions)];
  return all.some((pattern) => coversAction(pattern, action));
}

interface DeniedBy {
  readonly path: FieldPath;
  readonly fix: string;
}

function outsideScope(name: string, group: string, action: string | null): DeniedBy {
  const fix = `the session scope of ${group} does not allow ${action ?? "the action"} here (run \`ack-role-resolver `
    + `trust policy --group ${group}\`); if the controller needs it, set the annotation ${SESSION_SCOPE_ANNOTATION}: `
    + `none of IAMRoleSelector ${printable(name)}, with an own session-policy if you can`;
  return { path: annotationPath(SESSION_SCOPE_ANNOTATION), fix };
}

function outsidePolicies(name: string, action: string | null): DeniedBy {
  const fix = `allow ${action ?? "the action"} in the annotation session-policy of IAMRoleSelector `
    + `${printable(name)}, or list a policy that allows it in session-policy-arns`;
  return { path: annotationPath(SESSION_POLICY_ANNOTATION), fix };
}
