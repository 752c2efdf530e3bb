import { ACCOUNT_ID, parseARN, parseRoleARN } from "../formats/arn.ts";
import { listOf, quote } from "../formats/text.ts";
import type { AssumeRoleCall, Caller, OtherCaller, Request, RoleARN, SessionCaller } from "./assume-role-call.ts";
import { type Decision, decideAssumeRole, type Policies, rejectedDecision } from "./assume-role.ts";
import type { IAMData } from "./iam-data.ts";
import { type IAMGroup, type IAMRole, type IAMUser, nameOf } from "./iam-objects.ts";
import { hasGap } from "./merge-objects.ts";
import type { PolicySource, Side } from "./side-evaluation.ts";
import { NO, unknown, YES } from "./three-values.ts";
import { type Variant, variantsOf } from "./open-callers.ts";
import type { ParsedPolicy } from "./policy-document.ts";
import { doubtful, rejectionOf, rejectionText } from "./planned-policy.ts";
import { problemsOf, type TrustProblem } from "./trust-problem.ts";
import { type DecisionJSON, decisionJSON } from "./verdict-text.ts";

/** Whether a caller can assume a role. */
export interface Question {
  /** The ARN of a role, a session of a role or a user, or the name of a service. */
  readonly principalARN: string;
  readonly roleARN: string;
  readonly parameters: Omit<AssumeRoleCall, "role">;
}

/** A question that cannot be answered, because its text is wrong. */
export class QuestionError extends Error {}

/** Answers a question from exports. Throws a QuestionError if the caller or the role is not an ARN. */
export function answer(question: Question, data: IAMData, nowSeconds: number): DecisionJSON {
  const role = parseTarget(question.roleARN);
  const call = { ...question.parameters, role };
  return answerFor(findCaller(question.principalARN, data), call, data, nowSeconds).decision;
}

/** A decision, and why it is not a yes. */
export interface Answered {
  readonly decision: DecisionJSON;
  readonly problems: readonly TrustProblem[];
}

/** Returns whether a caller that has been looked up, or one of those for whom it stands, can assume a role. */
export function answerFor(found: FoundCaller, call: AssumeRoleCall, data: IAMData, nowSeconds: number): Answered {
  const { arn } = call.role;
  const target = data.role(arn);
  const trust = documentSource("trust", arn, target?.trust ?? null, data);
  const [first, ...others] = variantsOf(found.caller, call, trust.parsed?.policy ?? null);
  const own = answerOf(first);
  if (own.decision.verdict === "yes") return own;
  return others.map(answerOf).find(({ decision }) => decision.verdict === "yes") ?? own;

  function answerOf(variant: Variant): Answered {
    const request = { ...variant, roleTags: target?.tags ?? null, nowSeconds };
    const decision = decide(request);
    return { decision: decisionJSON(decision, request), problems: problemsOf(decision, request) };
  }

  function decide(request: Request): Decision {
    if (found.fault !== null) return rejectedDecision(found.fault);
    if (target !== null) return decideForRole(target, (parsed) => decideWith(request, parsed), data);
    if (!data.hasAll("role", arn)) return decideWith(request, null);
    return rejectedDecision("the role does not exist in the export of its account; check the ARN and its path");
  }

  function decideWith(request: Request, parsed: ParsedPolicy | null): Decision {
    const policies = { ...found.policies, trust: { ...trust, parsed: parsed ?? trust.parsed } };
    return decideAssumeRole(request, policies, target?.maxSessionSeconds ?? null);
  }
}

/** Returns the decision for a role whose trust policy can be planned, so that IAM may never store it. */
function decideForRole(role: IAMRole, decide: (trust: ParsedPolicy | null) => Decision, data: IAMData): Decision {
  const rejection = rejectionOf(role, data);
  if (rejection?.isCertain === true) {
    return rejectedDecision(rejectionText(rejection), `correct it in ${listOf(role.files)}`);
  }
  const decision = decide(null);
  return rejection === null || decision.verdict === "no" ? decision : decide(doubtful(rejection));
}

export function parseTarget(arn: string): RoleARN {
  const parsed = parseRoleARN(arn);
  if (parsed === null) throw new QuestionError(`roleArn ${quote(arn)} is not the ARN of a role`);
  return { arn, partition: parsed.partition, accountID: parsed.accountID };
}

/** A caller as it is named, before it is looked up. */
interface NamedCaller {
  readonly kind: "role" | "session" | "user" | "root" | "federated";
  readonly arn: string;
  readonly partition: string;
  readonly accountID: string;
  /** The name in a session's ARN; "" for other callers. */
  readonly sessionName: string;
}

const SERVICE = /^[a-z0-9-]+(\.[a-z0-9-]+)*\.amazonaws\.com(\.cn)?$/;
const KINDS: readonly (readonly [kind: NamedCaller["kind"], form: RegExp])[] = [
  ["session", /^sts:assumed-role\/[^/]+\/([^/]+)$/], ["role", /^iam:role\/./], ["user", /^iam:user\/./],
  ["root", /^iam:root$/], ["federated", /^sts:federated-user\/./],
];

function parseCaller(text: string): NamedCaller {
  const arn = parseARN(text);
  if (arn !== null && ACCOUNT_ID.test(arn.accountID) && arn.region === "") {
    const { partition, accountID, resource, service } = arn;
    for (const [kind, form] of KINDS) {
      const found = form.exec(`${service}:${resource}`);
      const isValid = found !== null && (kind !== "role" || parseRoleARN(text) !== null);
      if (isValid) return { kind, arn: text, partition, accountID, sessionName: found[1] ?? "" };
    }
  }
  throw new QuestionError(`principalArn ${quote(text)} is not the ARN of a role, a session or a user`);
}

/** A caller with the policies that the exports have for it. */
export interface FoundCaller {
  readonly caller: Caller;
  readonly policies: Omit<Policies, "trust">;
  /** Why the caller can assume no role. */
  readonly fault: string | null;
}

const NO_POLICIES: FoundCaller["policies"] = { identity: [], boundary: null, hasBoundary: NO, session: [] };

/** Returns a caller with its policies. Throws a QuestionError if the text is not the ARN of a caller. */
export function findCaller(text: string, data: IAMData): FoundCaller {
  if (SERVICE.test(text)) return callerWithoutPolicies({ kind: "service", name: text });
  const named = parseCaller(text);
  const found = lookUp(named, data);
  const isMissing = found === null && data.hasAll(named.kind === "user" ? "user" : "role", named.arn);
  return {
    caller: callerOf(named, found), policies: policiesOf(found, named.arn, data), fault: faultOf(named, isMissing),
  };
}

/** Returns a service or a service account, whose calls only the trust policy decides. */
export function callerWithoutPolicies(caller: OtherCaller): FoundCaller {
  return { caller, policies: NO_POLICIES, fault: null };
}

function callerOf(named: NamedCaller, found: IAMRole | IAMUser | null): Caller {
  const { arn, partition, accountID } = named;
  const { uniqueID, tags } = found ?? { uniqueID: null, tags: null };
  const base = { partition, accountID, uniqueID, tags };
  const isSession = named.kind === "role" || named.kind === "session";
  return isSession ? { ...base, ...sessionOf(named, found?.arn ?? null) }
    : { ...base, kind: "user", arn, userName: nameOf(arn) };
}

function lookUp({ kind, arn }: NamedCaller, data: IAMData): IAMRole | IAMUser | null {
  if (kind === "user") return data.accountOf(arn)?.users.get(arn) ?? null;
  return kind === "session" ? data.roleNamed(roleNameOf(arn), arn) : data.role(arn);
}

/** Returns the name of the role in the ARN of a session, which contains no path. */
function roleNameOf(sessionARN: string): string {
  return nameOf(sessionARN.slice(0, sessionARN.lastIndexOf("/")));
}

type SessionFields = Omit<SessionCaller, "partition" | "accountID" | "uniqueID" | "tags">;

function sessionOf({ kind, arn, sessionName }: NamedCaller, roleARN: string | null): SessionFields {
  const base = { kind: "session", sourceIdentity: null, transitiveTags: new Map() } as const;
  if (kind === "role") return { ...base, roleARN: arn, roleName: nameOf(arn), sessionName: null };
  return { ...base, roleARN, roleName: roleNameOf(arn), sessionName };
}

function faultOf({ kind }: NamedCaller, isMissing: boolean): string | null {
  if (kind === "root") return "the root user of an account cannot assume roles; use a role or a user";
  if (kind === "federated") return "a federated user session cannot call AssumeRole; use a role or a user";
  return isMissing ? "the caller does not exist in the export of its account; check the ARN and its path" : null;
}

function policiesOf(found: IAMRole | IAMUser | null, arn: string, data: IAMData): FoundCaller["policies"] {
  const missing: PolicySource = { side: "boundary", name: `of ${arn}`, parsed: null };
  if (found === null) {
    return { ...NO_POLICIES, identity: [{ ...missing, side: "identity" }], boundary: missing, hasBoundary: unknown() };
  }
  const groups = found.kind === "role" ? [] : found.groups.map((name) => {
    const group = data.accountOf(arn)?.groups.get(name);
    return group === undefined ? [missingGroup(name)] : holderSources(group, `${name}/`, data);
  });
  const identity = [...holderSources(found, "", data), ...groups.flat()];
  if (hasGap(found, "permissions boundary")) {
    return { identity, boundary: missing, hasBoundary: unknown(), session: [] };
  }
  const boundary = found.boundary === null ? null : managedSource("boundary", found.boundary, data);
  return { identity, boundary, hasBoundary: boundary === null ? NO : YES, session: [] };
}

function missingGroup(name: string): PolicySource {
  return { side: "identity", name: `of the group ${name}`, parsed: null };
}

/** Returns the policies, and a source for those that are not known. The names of policies of groups start with it. */
function holderSources(holder: IAMRole | IAMUser | IAMGroup, prefix: string, data: IAMData): PolicySource[] {
  const { arn, kind, inline, attached, gaps } = holder;
  const unread = gaps.filter(({ part }) => part !== "permissions boundary" && (part !== "groups" || kind === "user"));
  return [
    ...inline.map(({ name, document }) => documentSource("identity", `${prefix}${name}`, document, data)),
    ...attached.map((policy) => managedSource("identity", policy, data)),
    ...unread.map(({ part, cause }): PolicySource => (
      { side: "identity", name: `in the ${part} of ${arn}${cause === null ? "" : ` (${cause})`}`, parsed: null }
    )),
  ];
}

function managedSource(side: Side, arn: string, data: IAMData): PolicySource {
  const files = data.filesThatDiffer(arn);
  const name = files.length === 0 ? arn : `${arn}, which differs in ${listOf(files)}; export all accounts on one day`;
  return documentSource(side, name, data.policy(arn), data);
}

function documentSource(side: Side, name: string, document: string | null, data: IAMData): PolicySource {
  const parsed = document === null ? null : data.parse(document, side === "trust" ? "trust" : "identity");
  return { side, name, parsed };
}
