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
    const covered = coverageOf(group, action);
    const isOfScope = isScoped && (isAlone || covered === "missing" || covered === "restricted");
    const call = { group, action, covered };
    const cause = isOfScope ? outsideScope({ name, extras }, call) : outsidePolicies(name, action);
    return { code: type, severity: "deny", message: text, waivable: false, waived: false, ...cause };
  });
}

/** Whether the scope allows an action: on all resources, only under conditions, or not. */
type Coverage = "allowed" | "restricted" | "missing" | "unknown";

function coverageOf(group: string, action: string | null): Coverage {
  const scope = SCOPES.get(group);
  if (scope === undefined || action === null) return "unknown";
  const covers = (actions: readonly string[]): boolean => actions.some((pattern) => coversAction(pattern, action));
  const rows = scope.foreign.filter(({ actions }) => covers(actions));
  const isWhole = rows.some(({ resources, only }) => resources === undefined && only === undefined);
  if (covers(scope.actions) || isWhole) return "allowed";
  return rows.length > 0 ? "restricted" : "missing";
}

interface DeniedBy {
  readonly path: FieldPath;
  readonly fix: string;
}

interface Call {
  readonly group: string;
  readonly action: string | null;
  readonly covered: Coverage;
}

function outsideScope(
  { name, extras }: Pick<EffectiveSelector, "name" | "extras">, { group, action, covered }: Call,
): DeniedBy {
  const path = extras.scope === null ? ["metadata", "annotations"] : annotationPath(SESSION_SCOPE_ANNOTATION);
  const called = action ?? "the action";
  if (covered === "allowed") {
    const fix = `the session scope of ${group} allows ${called}: look for another session policy, such as one that a `
      + "client sends with its request, or wait until the controller gets a new session";
    return { path, fix };
  }
  const source = extras.scope === null ? " (the default of the sidecar, --session-scope)" : "";
  const print = `\`ack-role-resolver trust policy --group ${group}\``;
  const allows = covered === "restricted" ? `allows ${called} only for what ${print} shows`
    : `does not allow ${called}; ${print} prints what it allows`;
  const fix = `the session scope of ${group}${source} ${allows}. To allow more, write this policy with ${called} into `
    + `the annotation session-policy of IAMRoleSelector ${printable(name)}, and set its session-scope to none, which `
    + "the webhook denies (IRS-57) unless a waiver user allows it";
  return { path, fix };
}

function outsidePolicies(name: string, action: string | null): DeniedBy {
  const fix = `allow ${action ?? "the action"} in the annotation session-policy of IAMRoleSelector `
    + `${printable(name)}, or list a policy that allows it in session-policy-arns`;
  return { path: annotationPath(SESSION_POLICY_ANNOTATION), fix };
}
