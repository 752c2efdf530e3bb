import type { Access, AccessAnswers, Requester } from "../shared/decisions/context.ts";
import { field, stringAt } from "../shared/decisions/kubernetes/json.ts";
import { SELECTOR_GROUP } from "../shared/decisions/kubernetes/kinds.ts";
import type { Clock } from "../shared/inventory/clock.ts";
import { bodyText, type KubernetesAPI } from "../shared/inventory/cluster/api.ts";
import type { Logger } from "../shared/server/logger.ts";

/** Asks whether somebody may `use` an IAMRoleSelector. Never rejects: what could not be found out is unknown, and that is a refusal. */
export type AskAccess = (requester: Requester, selector: string) => Promise<Access>;

const PATH = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
/** A third of what a webhook call may take in all: the one call to the API server on the admission path. */
const CALL_MS = 1_000;
/** A right that is granted or taken away counts from then on at the latest. */
const LIFETIME_MS = 10_000;
/** Some MB at most; the oldest go first. */
const ENTRIES = 10_000;

export interface AccessReviewPorts {
  readonly api: KubernetesAPI;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Asks the API server by SubjectAccessReview, and keeps each answer for 10 s: one call for each user and selector. */
export function accessReviews(ports: AccessReviewPorts): AskAccess {
  const { clock } = ports;
  const kept = new Map<string, Kept>();
  return (requester, selector) => {
    // Groups decide as much as the name: the same user may come with fewer, as by impersonation.
    const key = JSON.stringify([requester.username, requester.groups, selector]);
    const found = kept.get(key);
    if (found !== undefined && clock.now() < found.untilMs) return found.answer;
    const entry = { answer: review(ports, requester, selector), untilMs: clock.now() + LIFETIME_MS };
    kept.delete(key); // so that the new one is the youngest
    kept.set(key, entry);
    const [oldest] = kept.keys();
    if (kept.size > ENTRIES && oldest !== undefined) kept.delete(oldest);
    return forgetUnknown(kept, key, entry);
  };
}

interface Kept {
  readonly answer: Promise<Access>;
  readonly untilMs: number;
}

/** What could not be found out is asked anew by the next request; those that wait already get the same answer. */
async function forgetUnknown(kept: Map<string, Kept>, key: string, entry: Kept): Promise<Access> {
  const answer = await entry.answer;
  if (answer === "unknown" && kept.get(key) === entry) kept.delete(key);
  return answer;
}

async function review({ api, clock, log }: AccessReviewPorts, { username, groups }: Requester, name: string): Promise<Access> {
  const resourceAttributes = { group: SELECTOR_GROUP, resource: "iamroleselectors", name, verb: "use" };
  const body = JSON.stringify({
    apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", spec: { user: username, groups, resourceAttributes },
  });
  const timeout = new AbortController();
  const callOff = clock.schedule(CALL_MS, () => timeout.abort());
  try {
    const response = await api.request({ method: "POST", path: PATH, body, signal: timeout.signal });
    const answer: unknown = JSON.parse(await bodyText(response));
    const allowed = field(field(answer, "status"), "allowed");
    if (typeof allowed === "boolean") return allowed ? "allowed" : "denied";
    log.warn({ selector: name, user: username, status: response.status, fault: stringAt(answer, "message") }, "access review failed");
  } catch (err) {
    log.warn({ selector: name, user: username, err }, "access review failed");
  } finally {
    callOff();
  }
  return "unknown";
}

/** The answers for several selectors, asked at once. */
export async function askAll(ask: AskAccess, requester: Requester, selectors: readonly string[]): Promise<AccessAnswers> {
  return new Map(await Promise.all(selectors.map(async (name) => [name, await ask(requester, name)] as const)));
}
