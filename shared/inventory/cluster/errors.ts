import { ACK_GROUPS } from "../../decisions/kubernetes/ack-groups.ts";
import { field, parseJSON, stringAt } from "../../decisions/kubernetes/json.ts";
import { isACKGroup } from "../../decisions/kubernetes/kinds.ts";
import { collectionPath, placeName, resourceName, type WatchedKind } from "./watched-kind.ts";

/** How the next attempt begins: from the version reached, or from a new list. */
export type Resumption = "resume" | "relist";

/** Why an attempt ended, in words for the status. */
export class ListWatchFault extends Error {
  readonly resumption: Resumption;
  /** What the server asked to wait, in ms; 0 without a wish. */
  readonly waitMs: number;
  /** Whether the server only asked to come again later. */
  readonly isDeferral: boolean;

  constructor(message: string, resumption: Resumption, { waitMs = 0, isDeferral = false } = {}) {
    super(message);
    this.name = "ListWatchFault";
    this.resumption = resumption;
    this.waitMs = waitMs;
    this.isDeferral = isDeferral;
  }
}

/** The version asked for is no longer held: a new list is due, and nothing is wrong. */
export class Expired extends Error {}

/** An answer that is no 200: its status, and the Status object in its body. */
export interface Refusal {
  readonly verb: "list" | "watch";
  readonly status: number;
  readonly body: string;
  readonly waitMs: number;
}

/** The sentence for a refusal, which says what to do about it. */
export function refusalFault(kind: WatchedKind, { verb, status, body, waitMs }: Refusal): ListWatchFault {
  // A watch that is answered 404 may be of a kind that was removed and is back: the list tells.
  const resumption = status === 404 || verb === "list" ? "relist" : "resume";
  return new ListWatchFault(`${reason(kind, verb, status)}${serverSaid(body)}`, resumption, { waitMs, isDeferral: status === 429 });
}

function reason(kind: WatchedKind, verb: string, status: number): string {
  if (status === 404 && isACKGroup(kind.group)) {
    return `the API server does not serve ${resourceName(kind)} (404 on ${verb}), though its CustomResourceDefinition is there; it is asked again until it does`;
  }
  if (status === 404) {
    return `the cluster has no ${kind.kind} (404 on ${collectionPath(kind)}), which is not the same as having none of them; install its CustomResourceDefinition, as with "ack-role-resolver manifests crds | kubectl apply -f -"`;
  }
  if (status === 403) {
    return `not allowed to ${verb} ${resourceName(kind)} ${placeName(kind)}; grant the verbs list and watch on it, as "ack-role-resolver manifests rbac${grantFlag(kind)}" does`;
  }
  if (status === 401) return `the API server does not accept the credentials (401 on ${verb} ${resourceName(kind)}); renew them in the kubeconfig`;
  return `the API server answered ${status} on ${verb} ${resourceName(kind)}`;
}

/** What the manifests have to be told to grant rights to a group that this release does not know. */
function grantFlag({ group }: WatchedKind): string {
  return isACKGroup(group) && !ACK_GROUPS.includes(group) ? ` --extra-groups ${group}` : "";
}

/** There was no answer, or it broke off. */
export function connectionFault(kind: WatchedKind, error: unknown): ListWatchFault {
  return new ListWatchFault(`${resourceName(kind)} cannot be followed: ${errorText(error)}`, "resume");
}

/** An ERROR event of a watch that was answered 200: only a new list leads on from it. */
export function errorEvent(kind: WatchedKind, status: unknown): Expired | ListWatchFault {
  if (field(status, "code") === 410) return new Expired();
  return new ListWatchFault(`the API server ended the watch of ${resourceName(kind)}: ${stringAt(status, "message") ?? "no reason given"}`, "relist");
}

/** Node leaves the message of an AggregateError empty, as when both of a name's addresses refuse; its code is there. */
function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.message !== "") return error.message;
  return "code" in error ? String(error.code) : error.name;
}

const MAX_SAID = 300;

/** The message of the Status object, else nothing: another body is a proxy's page. */
function serverSaid(body: string): string {
  const message = stringAt(parseJSON(body), "message");
  return message === null || message === "" ? "" : `; the API server said: ${message.slice(0, MAX_SAID)}`;
}
