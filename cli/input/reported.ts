import type { KubernetesAPI } from "../../shared/api/api.ts";
import { isSuccess, responseText, sendRequest } from "../../shared/api/send-request.ts";
import { type Clock, systemClock } from "../../shared/core/clock.ts";
import { acceptedAt, type Meaning, reportedConditions } from "../../shared/ack/resource-conditions.ts";
import { SELECTOR_KIND } from "../../shared/core/ack-groups.ts";
import { LIMITS } from "../../shared/core/limits.ts";
import { errorMessage } from "../../shared/formats/errors.ts";
import { field, type JsonObject, stringAt } from "../../shared/formats/json.ts";
import { type ObjectID, objectReference } from "../../shared/formats/object-meta.ts";

/** What a program or a controller says about an object. */
export interface Reported {
  /** Such as `Event RoleRefused, 3 min ago, sidecar`. */
  readonly title: string;
  readonly text: string;
  /** What it says about the resource now. `past`: a condition is newer, and says that it is no longer so. */
  readonly meaning: Exclude<Meaning, "fine"> | "past";
  /** Whether it says that the controller gets no credentials. */
  readonly isRefusal: boolean;
}

/** The start of the names of the programs that write Events. */
const REPORTER = "ack-role-resolver.io/";

/** Returns the conditions of an ACK resource that say more than that all is well, and that are no cause. */
export function conditionReports(object: JsonObject): Reported[] {
  return reportedConditions(object).filter(({ existing }) => existing === null).map(({ type, meaning, text }) => (
    { title: `condition ${type}`, text, meaning, isRefusal: false }
  ));
}

/** Whether a report is why `why` fails. */
export function isError({ meaning }: Reported): boolean {
  return meaning === "error";
}

/** Returns the fix if nothing else is known. */
export function fixOf(reported: readonly Reported[]): string {
  const now = reported.filter(({ meaning }) => meaning !== "past");
  if (now.length === 0) return "nothing is wrong";
  return now.every(({ meaning }) => meaning === "waiting") ? "wait until the controller has finished" : "see above";
}

/** Returns the newest Event of each reason that the webhook and the sidecars wrote about the object and selectors. */
export async function reportedEvents(
  api: KubernetesAPI, object: JsonObject, selectors: readonly string[], clock: Clock = systemClock,
): Promise<Reported[]> {
  // Events about cluster-scoped objects are in the namespace default.
  const ofSelectors = selectors.map((name) => ({ kind: SELECTOR_KIND, namespace: "default", name }));
  const lists = await Promise.all([objectReference(object), ...ofSelectors].map((one) => listEvents(api, clock, one)));
  const events = lists.flatMap(({ events: listed }) => listed).toSorted((a, b) => timeOf(b) - timeOf(a));
  const [fault] = lists.flatMap((one) => one.fault ?? []);
  const newest = new Map(events.toReversed().map((event) => [stringAt(event, "message"), event]));
  return [
    ...(fault === undefined ? [] : [{
      title: "Events", text: `unknown: ${fault}`, meaning: "notice", isRefusal: false,
    } as const]),
    ...[...newest.values()].toReversed().map((event) => (
      { title: titleOf(event, clock.now()), text: stringAt(event, "message") ?? "", ...meaningOf(event, object) }
    )),
  ];
}

/**
 * A controller whose credentials AWS accepted later has its role. Times of conditions have no fraction of a second, so
 * a condition of the same second is not newer.
 */
function meaningOf(event: JsonObject, resource: JsonObject): Pick<Reported, "meaning" | "isRefusal"> {
  if (stringAt(event, "reason") !== "RoleRefused") return { meaning: "notice", isRefusal: false };
  const isPast = Date.parse(acceptedAt(resource) ?? "") > timeOf(event);
  return { meaning: isPast ? "past" : "error", isRefusal: !isPast };
}

type Regarding = Pick<ObjectID, "kind" | "namespace" | "name">;

async function listEvents(
  api: KubernetesAPI, clock: Clock, { kind, namespace, name }: Regarding,
): Promise<{ readonly events: readonly JsonObject[]; readonly fault: string | null }> {
  const selector = encodeURIComponent(`involvedObject.kind=${kind},involvedObject.name=${name}`);
  const path = `/api/v1/namespaces/${namespace}/events?limit=${LIMITS.reportedEvents.value}&fieldSelector=${selector}`;
  try {
    const response = await sendRequest({ api, clock }, { path });
    const items = field(response.object, "items");
    if (!isSuccess(response)) return { events: [], fault: faultOf(responseText({ path }, response), response.status) };
    const events = (Array.isArray(items) ? items : []).filter((item: unknown) => (
      (stringAt(item, "reportingComponent") ?? "").startsWith(REPORTER)
    ));
    return { events, fault: null };
  } catch (error) {
    return { events: [], fault: errorMessage(error) };
  }
}

function faultOf(text: string, status: number): string {
  return status === 403 ? `${text}; ask for the verb list on events in the namespace` : text;
}

/** Returns the time of the last occurrence, in ms. */
function timeOf(event: JsonObject): number {
  const texts = [
    stringAt(event, "series", "lastObservedTime"), stringAt(event, "lastTimestamp"), stringAt(event, "eventTime"),
  ];
  return texts.map((text) => Date.parse(text ?? "")).find((time) => !Number.isNaN(time)) ?? 0;
}

function titleOf(event: JsonObject, nowMs: number): string {
  const minutes = Math.max(0, Math.round((nowMs - timeOf(event)) / 60_000));
  const program = (stringAt(event, "reportingComponent") ?? "").slice(REPORTER.length);
  return `Event ${stringAt(event, "reason") ?? ""}, ${minutes} min ago, ${program}`;
}
