import { createHash } from "node:crypto";
import type { EventSubject } from "../decisions/problems/problem.ts";
import { microTime } from "../inventory/cluster/micro-time.ts";

export interface EventText {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  /** What the program was doing, as one word in CamelCase. */
  readonly action: string;
  readonly note: string;
}

/** The limits of k8s.io/kubernetes pkg/apis/core/validation/events.go, in bytes. */
const MAX_NOTE_BYTES = 1_024;
const MAX_NAME = 128;
const MAX_OBJECT_NAME = 200;

/** An Event (events.k8s.io/v1). The recorder uses only the fields that it names here. */
interface EventObject extends Readonly<Record<string, unknown>> {
  readonly metadata: { readonly namespace: string; readonly name: string };
}

interface Reporter {
  /** The name of the program, such as `ack-role-resolver.io/webhook`. */
  readonly controller: string;
  /** The unique name of this replica. */
  readonly identity: string;
  readonly nowMs: number;
}

/** Returns the Event about the object. */
export function eventObject(
  subject: EventSubject, text: EventText, { controller, identity, nowMs }: Reporter,
): EventObject {
  const { type, reason, action, note } = text;
  const { apiVersion, kind, name, uid } = subject;
  const regarding = {
    apiVersion, kind, name, ...(subject.namespace !== "" && { namespace: subject.namespace }),
    ...(uid !== null && { uid }),
  };
  return {
    apiVersion: "events.k8s.io/v1", kind: "Event",
    // Events about cluster-scoped objects are in the namespace default.
    metadata: { namespace: subject.namespace || "default", name: eventName(controller, subject, text) },
    eventTime: microTime(nowMs), reportingController: controller,
    reportingInstance: identity.slice(0, MAX_NAME), action, regarding, type, reason, note: truncated(note),
  };
}

/**
 * Returns the name of the Event. All replicas use the same name for the same problem, so that they continue the same
 * series.
 */
function eventName(controller: string, { kind, uid, name }: EventSubject, { reason, note }: EventText): string {
  const hash = createHash("sha256").update(JSON.stringify([controller, kind, uid, name, reason, note])).digest("hex");
  return `${name.slice(0, MAX_OBJECT_NAME).replace(/[^a-z0-9]+$/, "")}.${hash.slice(0, 16)}`;
}

/** Truncates the note to the maximum number of bytes, without splitting a character. */
function truncated(note: string): string {
  const wellFormed = note.toWellFormed();
  if (Buffer.byteLength(wellFormed) <= MAX_NOTE_BYTES) return wellFormed;
  const bytes = Buffer.from(wellFormed).subarray(0, MAX_NOTE_BYTES - 3);
  return `${bytes.toString("utf8").replace(/\uFFFD+$/, "")}...`;
}
