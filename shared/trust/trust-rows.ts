import type { IdentitySource, RoleTarget } from "../core/role-target.ts";
import { parseRoleARN } from "../formats/arn.ts";
import { chained, type RoleCaller, withSessionTags } from "./role-caller.ts";
import { type Answered, answerFor, findCaller, type FoundCaller, parseTarget } from "./trust-question.ts";
import { assumes, manages, parametersOf, tagsOf } from "./trust-target.ts";
import type { IAMData } from "./iam-data.ts";
import { TRUST_CODES } from "./trust-code.ts";
import { unknownProblem } from "./trust-problem.ts";

/** Whether a caller can assume a role. */
export interface TrustRow extends Answered {
  readonly target: RoleTarget;
  readonly caller: RoleCaller;
  /** The role that assumes the role in place of the caller's own; null for the caller's own. */
  readonly through: string | null;
}

/** The exports, and the callers that are examined. */
export interface TrustInput {
  readonly callers: readonly RoleCaller[];
  readonly data: IAMData;
  readonly nowSeconds: number;
}

/** Callers whose policies have been looked up once. */
export class TrustCallers {
  readonly #callers: readonly ResolvedCaller[];
  readonly #nowSeconds: number;

  /** Throws a QuestionError if a caller is not the ARN of a role or a user. */
  constructor({ callers, data, nowSeconds }: TrustInput) {
    this.#callers = callers.map((caller) => new ResolvedCaller(caller, data));
    this.#nowSeconds = nowSeconds;
  }

  /** Returns a row for each caller that assumes the role. */
  rowsOf(target: RoleTarget): TrustRow[] {
    const through = sourceOf(target)?.roleARN ?? null;
    const isValid = [target.roleARN, ...(through === null ? [] : [through])].every((arn) => parseRoleARN(arn) !== null);
    return this.#callers.filter(({ caller }) => assumesRole(caller, target)).map((one) => {
      const answered = isValid ? one.decide(target, this.#nowSeconds) : notAnARN();
      return { target, caller: one.caller, through, ...answered };
    });
  }

  /** Whether callers assume roles that objects of this kind name, but none of them manages what the object selects. */
  lacksController(target: RoleTarget): boolean {
    const callers = this.#callers.filter(({ caller: { via } }) => assumes(via, target));
    return callers.length > 0 && !callers.some(({ caller }) => manages(caller, target));
  }
}

/** Whether a caller assumes the role. Of the roles of an export, one can be its own. */
function assumesRole(caller: RoleCaller, target: RoleTarget): boolean {
  const isOwn = target.kind === "role" && target.roleARN === caller.arn;
  return !isOwn && assumes(caller.via, target) && manages(caller, target);
}

/** A caller whose policies have been looked up once. */
class ResolvedCaller {
  readonly caller: RoleCaller;
  readonly #data: IAMData;
  /** The caller with each kind of credentials that it can have: one, unless they are not known. */
  readonly #found: readonly FoundCaller[];
  /** The roles that the caller assumes first. */
  readonly #sources = new Map<string, FoundCaller>();

  constructor(caller: RoleCaller, data: IAMData) {
    this.caller = caller;
    this.#data = data;
    const found = findCaller(caller.arn, data);
    const isOpen = caller.credentials === null && found.caller.kind === "session" && caller.via !== "eks-capability";
    const kinds = isOpen ? ["irsa", "pod-identity"] as const : [caller.credentials];
    this.#found = kinds.map((credentials) => withSessionTags(found, { ...caller, credentials }));
  }

  decide(target: RoleTarget, nowSeconds: number): Answered {
    const call = { ...parametersOf(target, this.caller), role: parseTarget(target.roleARN) };
    const source = sourceOf(target);
    const sessions = source === null ? this.#found : this.#sessionsOf(source);
    return sessions.map((found) => answerFor(found, call, this.#data, nowSeconds)).reduce((first, other) => (
      other.decision.verdict === first.decision.verdict ? first : open(other)
    ));
  }

  #sessionsOf({ roleARN, tags, hasOtherBase }: IdentitySource): readonly FoundCaller[] {
    const role = this.#sources.get(roleARN) ?? findCaller(roleARN, this.#data);
    this.#sources.set(roleARN, role);
    // Shipped CAPA sends no tags.
    const own = this.caller.via === "sidecar" ? tagsOf(tags) : tagsOf([]);
    return this.#found.map(({ caller }) => chained(role, hasOtherBase ? null : caller, own));
  }
}

function sourceOf(target: RoleTarget): IdentitySource | null {
  return target.kind === "identity" ? target.source : null;
}

const OPEN = "the credentials of the caller, because EKS Pod Identity adds session tags (--caller-credentials)";

/** Returns the answer for credentials that are not known, of which some have another answer. */
function open({ decision }: Answered): Answered {
  const missing = [...decision.missing, OPEN];
  return { decision: { ...decision, verdict: "unknown", missing }, problems: [unknownProblem(missing)] };
}

function notAnARN(): Answered {
  const reason = "the role, or that of the source, is not the ARN of an IAM role; correct it in the Kubernetes object";
  const actions = [{ action: "sts:AssumeRole", verdict: "no", statements: [], reason }] as const;
  const problems = [{ code: TRUST_CODES.notAssumable, message: reason, fix: null }];
  return { decision: { verdict: "no", actions, missing: [] }, problems };
}
