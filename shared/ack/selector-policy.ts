import {
  SESSION_POLICY_ANNOTATION, SESSION_POLICY_ARNS_ANNOTATION, SESSION_SCOPE_ANNOTATION,
} from "../core/annotation-keys.ts";
import type { Fault } from "../core/check.ts";
import { by, meant, remove, type Repair, safely, set } from "../core/repair.ts";
import { policyFaults } from "../core/policy-faults.ts";
import {
  parsePolicy, policyARNFaults, policyLengthFault, readPolicyARNs, writtenTemplates,
} from "../core/session-policy.ts";
import { withStatements } from "../core/session-policies.ts";
import { coversAction, denyStatements, scopeOf, SCOPES, type ServiceScope } from "../core/session-scope.ts";
import type { SelectorSpec } from "../core/iamroleselector.ts";
import { NAMESPACE_FIX, NO_NAMESPACE, templateFaultsAt } from "./selector-session.ts";
import { SCOPE_NAMES } from "../core/session.ts";
import { needsNamespace, policyOf } from "../core/session-annotations.ts";
import { annotationPath, field, type FieldPath, isJsonObject, type JsonObject } from "../formats/json.ts";
import { NameIndex } from "../formats/nearest.ts";
import { annotationAt } from "../formats/object-meta.ts";
import { quote } from "../formats/text.ts";
import type { SelectorCheck } from "./selector.ts";

// A selector with a fault here grants nothing: its sessions could otherwise do all that the role may.

const POLICY_PATH = annotationPath(SESSION_POLICY_ANNOTATION);
const ARNS_PATH = annotationPath(SESSION_POLICY_ARNS_ANNOTATION);

export const IRS_54: SelectorCheck = {
  id: "IRS-54",
  severity: "deny",
  reason: "STS rejects an invalid session policy, so the role cannot be assumed. The sessions of a role may do at most "
    + "what the policy allows.",
  fix: "write an IAM policy as JSON, without Principal",
  example: `metadata: {annotations: {${SESSION_POLICY_ANNOTATION}: '{"Statement": [{"Effect": "allow", `
    + `"Action": "s3:*", "Resource": "*"}]}'}}`,
  *find({ object, spec }): Iterable<Fault> {
    const text = annotationAt(object, SESSION_POLICY_ANNOTATION);
    if (text === null) return;
    const faults = policyFaults(text);
    for (const { message, repaired } of faults) {
      yield { path: POLICY_PATH, message, fix: IRS_54.fix, repairs: repaired === null ? NONE : policyRepair(repaired) };
    }
    const isAlone = annotationAt(object, SESSION_POLICY_ARNS_ANNOTATION) === null;
    const isScoped = annotationAt(object, SESSION_SCOPE_ANNOTATION) === "service";
    if (faults.length === 0 && isAlone) yield* uselessFaults(text, spec, isScoped);
    yield* templateFaultsAt(POLICY_PATH, text, { names: writtenTemplates(text), spec });
    if (needsNamespace(text, spec)) {
      yield { path: POLICY_PATH, message: NO_NAMESPACE, fix: NAMESPACE_FIX, severity: "warn" };
    }
  },
};

/** Returns a fault for each group whose controller can do nothing with the policy. */
function* uselessFaults(text: string, spec: SelectorSpec, isScoped: boolean): Iterable<Fault> {
  const statements = [field(parsePolicy(text), "Statement")].flat().filter(isJsonObject);
  const allowed = statements.filter(({ Effect: effect }) => effect === "Allow");
  if (allowed.some((statement) => "NotAction" in statement)) return;
  const actions = allowed.flatMap(({ Action: some }) => some).filter((action) => typeof action === "string");
  for (const [group, { actions: own }] of groupsOf(spec)) {
    if (actions.some((action) => own.some((one) => coversAction(one, action) || coversAction(action, one)))) continue;
    const message = `the policy allows no action of ${group}, so its controller can do nothing`;
    const instead = isScoped ? "remove session-policy: the scope is enough" : "set session-scope: service instead";
    const fix = `allow what it needs, for example ${exampleOf(group, own)}, or ${instead}`;
    yield { path: POLICY_PATH, message, fix, severity: "warn" };
  }
}

/** Returns an action of the service that the group is named after, if it is among them. */
function exampleOf(group: string, own: readonly string[]): string {
  const [service = ""] = group.split(".");
  return own.find((action) => action.startsWith(`${service}:`)) ?? own.slice(0, 1).join();
}

/** Returns the groups that the selector names, and what their controllers need. */
function groupsOf({ resourceTypeSelector }: SelectorSpec): readonly (readonly [string, ServiceScope])[] {
  const named = new Set(resourceTypeSelector?.map(({ group }) => group));
  return [...SCOPES].filter(([group]) => named.has(group));
}

const NONE: readonly never[] = [];

function policyRepair(policy: JsonObject): readonly Repair[] {
  return by(set(POLICY_PATH, JSON.stringify(policy)));
}

export const IRS_55: SelectorCheck = {
  id: "IRS-55",
  severity: "deny",
  reason: "STS rejects session policies that do not exist for the role, or that are too long, so the role cannot be "
    + "assumed.",
  fix: "list up to ten ARNs of policies of AWS or of the role's account, with 2,048 characters together with the "
    + "annotation session-policy",
  example: `metadata: {annotations: {${SESSION_POLICY_ARNS_ANNOTATION}: `
    + "'arn:aws:iam::aws:policy/AmazonS3FullAccess, arn:aws:iam::aws:policy/AmazonS3FullAccess,'}}",
  *find({ object, spec }): Iterable<Fault> {
    const text = annotationAt(object, SESSION_POLICY_ARNS_ANNOTATION);
    const policy = annotationAt(object, SESSION_POLICY_ANNOTATION);
    const faults = text === null ? NONE : listFaults(text, spec.arn ?? "");
    for (const fault of faults) yield { path: ARNS_PATH, ...fault };
    const arns = readPolicyARNs(text ?? "");
    const message = faults.length > 0 ? null : policyLengthFault(policy === null ? null : policyOf(policy, spec), arns);
    const path = text === null ? POLICY_PATH : ARNS_PATH;
    if (message !== null) yield { path, message, fix: IRS_55.fix };
    else if (faults.length === 0) yield* scopeFaults(object, spec, { path, arns });
  },
};

interface Judged {
  readonly path: FieldPath;
  readonly arns: readonly string[];
}

/** Beside the scope of a controller, the policies can be too long for STS. */
function* scopeFaults(
  object: JsonObject, spec: SelectorSpec, { path, arns }: Judged,
): Iterable<Fault> {
  const text = annotationAt(object, SESSION_POLICY_ANNOTATION);
  const policy = text === null ? null : policyOf(text, spec);
  if (annotationAt(object, SESSION_SCOPE_ANNOTATION) !== "service" || (policy === null && arns.length === 0)) return;
  if (policy !== null && policyFaults(policy).length > 0) return;
  for (const [group] of groupsOf(spec)) {
    const scope = denyStatements(scopeOf([group]));
    const message = policyLengthFault(withStatements(policy, scope), arns);
    if (message === null) continue;
    yield { path, message: `beside the session scope of ${group}, ${message}`, fix: "shorten the session policy" };
  }
}

function listFaults(text: string, roleARN: string): readonly Omit<Fault, "path">[] {
  const listed = readPolicyARNs(text);
  const isClean = text.split(",").length === listed.length;
  if (isClean) return policyARNFaults(listed, roleARN).map((message) => ({ message, fix: IRS_55.fix }));
  return [{ message: "the list has an empty or repeated entry", repairs: listRepairs(listed) }];
}

function listRepairs(listed: readonly string[]): readonly Repair[] {
  return listed.length === 0 ? by(remove(ARNS_PATH)) : safely(set(ARNS_PATH, listed.join(",")));
}

const SCOPE_PATH = annotationPath(SESSION_SCOPE_ANNOTATION);

export const IRS_56: SelectorCheck = {
  id: "IRS-56",
  severity: "deny",
  reason: "A session scope that is not understood would leave it open what the sessions of the role may do.",
  fix: `write ${SCOPE_NAMES.join(" or ")}, or remove the annotation`,
  example: `metadata: {annotations: {${SESSION_SCOPE_ANNOTATION}: 'Service'}}`,
  *find({ object }): Iterable<Fault> {
    const text = annotationAt(object, SESSION_SCOPE_ANNOTATION);
    if (text === null || SCOPE_NAMES.some((one) => one === text)) return;
    const message = `${quote(text)} is not a session scope`;
    const repairs = meant(SCOPE_PATH, new NameIndex(SCOPE_NAMES).guesses(text.trim().toLowerCase()));
    yield { path: SCOPE_PATH, message, ...(repairs.length > 0 ? { repairs } : { fix: IRS_56.fix }) };
  },
};
