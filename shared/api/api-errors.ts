import { field, parseJSON, stringAt } from "../formats/json.ts";
import { ACK_GROUPS, isACKGroup } from "../core/ack-groups.ts";
import { collectionPath, resourceName, scopeOf, type WatchedKind } from "./watched-kind.ts";

/** How the next attempt starts: `resume` watches from the last resource version, `relist` lists all objects again. */
type Recovery = "resume" | "relist";

type ErrorDetails = Partial<
  Pick<ListWatchError, "retryAfterMs" | "isThrottled" | "isOutage" | "isStalled" | "messageFor">
>;

/** An error that ended a list or watch. The status of the source reports the message of the error as a fault. */
export class ListWatchError extends Error {
  readonly recovery: Recovery;
  /**
   * The delay that the API server requested before a retry, in ms. The value is 0 if the API server requested no delay.
   */
  readonly retryAfterMs: number;
  /** Whether the API server responded with status 429 (Too Many Requests). */
  readonly isThrottled: boolean;
  /** Whether the API server may be down: it sent no complete response, or a status of at least 500. */
  readonly isOutage: boolean;
  /** Whether the API server accepted a watch, but did not end it when requested. */
  readonly isStalled: boolean;
  /**
   * Returns the message for several kinds, such as `3 kinds`. Null unless the fault is one of the connection or the
   * credentials, which usually affects every kind.
   */
  readonly messageFor: ((kinds: string) => string) | null;

  constructor(message: string, recovery: Recovery, details: ErrorDetails = {}) {
    super(message);
    this.name = "ListWatchError";
    this.recovery = recovery;
    this.retryAfterMs = details.retryAfterMs ?? 0;
    this.isThrottled = details.isThrottled === true;
    this.isOutage = details.isOutage === true;
    this.isStalled = details.isStalled === true;
    this.messageFor = details.messageFor ?? null;
  }
}

/**
 * An HTTP 410 response: the API server no longer has the requested resource version. The reflector lists again and
 * reports no fault.
 */
export class ResourceExpired extends Error {}

/** A response whose status is not 200. */
interface ErrorResponse {
  readonly verb: "list" | "watch";
  readonly status: number;
  /** The response body, usually a Status object as JSON. */
  readonly body: string;
  readonly retryAfterMs: number;
}

/** Returns the error for a response whose status is not 200. The message includes the fix. */
export function responseError(
  kind: WatchedKind, { verb, status, body, retryAfterMs }: ErrorResponse,
): ListWatchError {
  // A 404 on a watch can mean that the kind was deleted and created again. Only a new list shows the current objects.
  const recovery = status === 404 || verb === "list" ? "relist" : "resume";
  const suffix = serverMessage(body);
  const messageFor = status === 401 ? (kinds: string): string => `${credentialsReason(verb, kinds)}${suffix}` : null;
  const details = { retryAfterMs, isThrottled: status === 429, isOutage: status >= 500, messageFor };
  return new ListWatchError(`${reason(kind, verb, status, suffix)}${suffix}`, recovery, details);
}

function reason(kind: WatchedKind, verb: string, status: number, answer: string): string {
  const resource = resourceName(kind);
  if (status === 404 && kind.isDefined === true) {
    return `the API server does not serve ${resource} (404 on ${verb}) although its CustomResourceDefinition exists; `
      + "retrying";
  }
  if (status === 404) {
    return `the API server does not know the kind ${kind.kind} (404 on ${collectionPath(kind)}); `
      + "install its CustomResourceDefinition; "
      + "the chart of each ACK controller contains the definition of IAMRoleSelector";
  }
  if (status === 403) {
    const denied = `not allowed to ${verb} ${resource} ${scopeOf(kind)}`;
    // Only the users of commands read Deployments.
    if (kind.group === "apps") return `${denied}; grant the verb list on it`;
    return `${denied}; grant ${userIn(answer)} the verbs list and watch on it: `
      + `"ack-role-resolver manifests rbac${rbacFlag(kind)}" prints such a rule`;
  }
  if (status === 401) return credentialsReason(verb, resource);
  return `the API server returned ${status} on ${verb} ${resource}`;
}

/** Returns the user whom the API server names in a denial. */
function userIn(answer: string): string {
  const [, name] = /\bUser "([^"]+)" cannot /.exec(answer) ?? [];
  return name === undefined ? "this user or ServiceAccount" : `the user ${name}`;
}

function credentialsReason(verb: string, resources: string): string {
  return `the API server rejected the credentials (401 on ${verb} ${resources}); renew them in the kubeconfig`;
}

/**
 * Returns the flag of `manifests rbac` that grants rights for the Secrets of a namespace, or for a group that is
 * unknown to this release, else "".
 */
function rbacFlag({ group, kind, namespace }: WatchedKind): string {
  if (kind === "Secret" && namespace !== undefined) return ` --identity-secret-namespace ${namespace}`;
  return isACKGroup(group) && !ACK_GROUPS.includes(group) ? ` --extra-groups ${group}` : "";
}

/** Returns the error for a request that received no response or an incomplete response. */
export function connectionError(kind: WatchedKind, error: unknown): ListWatchError {
  const messageOf = (resources: string): string => `cannot list or watch ${resources}: ${errorText(error)}`;
  const messageFor = (kinds: string): string => (
    `${messageOf(kinds)}; check that the API server is running and reachable`
  );
  return new ListWatchError(messageOf(resourceName(kind)), "resume", { isOutage: true, messageFor });
}

/** Returns the error for a watch that the API server did not end after the requested time, in seconds. */
export function stalledError(kind: WatchedKind, seconds: number): ListWatchError {
  const messageFor = (watches: string): string => (
    `${watches} stalled: the API server accepted the watch, but did not end it after ${seconds} s as requested; `
      + "check the proxies and load balancers on the way to the API server"
  );
  const details = { isStalled: true, messageFor: (kinds: string) => messageFor(`the watches of ${kinds}`) };
  return new ListWatchError(messageFor(`the watch of ${resourceName(kind)}`), "resume", details);
}

/** Returns the error for an ERROR event of a watch. After an ERROR event, the reflector must list again. */
export function watchEventError(kind: WatchedKind, status: unknown): ResourceExpired | ListWatchError {
  if (field(status, "code") === 410) return new ResourceExpired();
  const message = stringAt(status, "message") ?? "no reason reported";
  return new ListWatchError(`the API server ended the watch of ${resourceName(kind)}: ${message}`, "relist");
}

/**
 * Returns the message, code or name of the error. If all addresses of a host refuse the connection, Node.js throws an
 * AggregateError, which has a code but an empty message.
 */
function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.message !== "") return error.message;
  return "code" in error ? String(error.code) : error.name;
}

const MAX_SERVER_MESSAGE = 300;

/** Returns the message of a Status object. Returns "" for any other body, such as the error page of a proxy. */
function serverMessage(body: string): string {
  const message = stringAt(parseJSON(body), "message");
  if (message === null || message === "") return "";
  return `; API server message: ${message.slice(0, MAX_SERVER_MESSAGE)}`;
}
