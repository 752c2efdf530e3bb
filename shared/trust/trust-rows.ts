import { parseRoleARN } from "../formats/arn.ts";
import { chained, type RoleCaller, withSessionTags } from "./role-caller.ts";
import { answerFor, findCaller, type FoundCaller, parseTarget } from "./trust-question.ts";
import { assumes, type IdentitySource, parametersOf, tagsOf, type TrustTarget } from "./trust-target.ts";
import type { IAMData } from "./iam-data.ts";
import type { DecisionJSON } from "./verdict-text.ts";

/** Whether a caller can assume a role. */
export interface TrustRow {
  readonly target: TrustTarget;
  readonly caller: Pick<RoleCaller, "arn" | "via" | "credentials">;
  /** The role that assumes the role in place of the caller's own; null for the caller's own. */
  readonly through: string | null;
  readonly decision: DecisionJSON;
}

interface Input {
  readonly callers: readonly RoleCaller[];
  readonly targets: readonly TrustTarget[];
  readonly data: IAMData;
  readonly nowSeconds: number;
}

/**
 * Yields a row for each role and each caller that assumes roles of its kind, in the order of the roles. Throws a
 * QuestionError if a caller is not the ARN of a role or a user.
 */
export function* trustRows({ callers, targets, data, nowSeconds }: Input): Iterable<TrustRow> {
  const resolved = callers.map((caller) => new ResolvedCaller(caller, data));
  for (const target of targets) {
    const through = sourceOf(target)?.roleARN ?? null;
    const isValid = [target.roleARN, ...(through === null ? [] : [through])].every((arn) => parseRoleARN(arn) !== null);
    for (const one of resolved.filter(({ caller }) => assumesRole(caller, target))) {
      const decision = isValid ? one.decide(target, nowSeconds) : notAnARN();
      yield { target, caller: one.caller, through, decision };
    }
  }
}

/** Whether a caller assumes the role. Of the roles of an export, one can be its own. */
function assumesRole({ arn, via }: RoleCaller, target: TrustTarget): boolean {
  return assumes(via, target) && !(target.kind === "role" && target.roleARN === arn);
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

  decide(target: TrustTarget, nowSeconds: number): DecisionJSON {
    const call = { ...parametersOf(target, this.caller), role: parseTarget(target.roleARN) };
    const source = sourceOf(target);
    const sessions = source === null ? this.#found : this.#sessionsOf(source);
    return sessions.map((found) => answerFor(found, call, this.#data, nowSeconds)).reduce((first, other) => (
      other.verdict === first.verdict ? first : { ...other, verdict: "unknown", missing: [...other.missing, OPEN] }
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

function sourceOf(target: TrustTarget): IdentitySource | null {
  return target.kind === "identity" ? target.source : null;
}

const OPEN = "the credentials of the caller, because EKS Pod Identity adds session tags (--caller-credentials)";

function notAnARN(): DecisionJSON {
  const reason = "the role, or that of the source, is not the ARN of an IAM role; correct it in the Kubernetes object";
  const actions = [{ action: "sts:AssumeRole", verdict: "no", statements: [], reason }] as const;
  return { verdict: "no", actions, missing: [] };
}
