import { SESSION_POLICY_ANNOTATION } from "../core/annotation-keys.ts";
import type { Finding } from "../core/check.ts";
import type { EffectiveSelector } from "../core/effective-selector.ts";
import { isUnrestricted } from "../core/session.ts";
import { annotationPath, type JsonObject } from "../formats/json.ts";
import { printable } from "../formats/text.ts";
import { reportedConditions } from "./resource-conditions.ts";

/**
 * What AWS says of a call that a session policy does not allow. Some services say neither. Source:
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot_access-denied.html
 */
const BY_SESSION_POLICY = /no session policy allows|explicit deny in a session policy/;
const ACTION = /is not authorized to perform: ([a-z0-9-]+:[A-Za-z0-9*]+)/;

/** Returns the actions that the session policies of the selector deny, as ACK reports them of the resource. */
export function deniedActions(object: JsonObject, { name, extras }: EffectiveSelector): readonly Finding[] {
  if (isUnrestricted(extras)) return [];
  return reportedConditions(object).filter(({ text }) => BY_SESSION_POLICY.test(text)).map(({ type, text }) => ({
    code: type, severity: "deny", path: annotationPath(SESSION_POLICY_ANNOTATION), message: text, waivable: false,
    waived: false, fix: `allow ${ACTION.exec(text)?.[1] ?? "the action"} in the annotation session-policy of `
      + `IAMRoleSelector ${printable(name)}, or list a policy that allows it in session-policy-arns`,
  }));
}
