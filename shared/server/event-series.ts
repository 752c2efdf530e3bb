import { createHash } from "node:crypto";
import { microTime } from "../api/wire.ts";
import { LIMITS } from "../core/limits.ts";
import { RetryQueue } from "./retry-queue.ts";
import type { EventSubject } from "../formats/object-meta.ts";

export interface EventText {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  /** What the program was doing, as one word in CamelCase. */
  readonly action: string;
  readonly note: string;
}

/** The limits of k8s.io/kubernetes pkg/apis/core/validation/events.go, in bytes. */
export const MAX_NOTE_BYTES = 1_024;
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

/** The minimum time between two writes of one series, in ms. By default, an Event lives for one hour after a write. */
const SERIES_MS = 30 * 60_000;
/** The minimum time until a series ends because its note has changed, in ms. */
const NOTE_MS = 10 * 60_000;
/** A series that was not recorded for this time is forgotten, in ms. */
const FORGOTTEN_MS = 2 * 3_600_000;

export interface Series {
  readonly subject: EventSubject;
  text: EventText;
  /** The number of records since the Event was created. */
  count: number;
  /** Whether the Event exists. */
  isCreated: boolean;
  lastRecordMs: number;
  /** The steady time of the last write; null before the first write. */
  lastWriteMs: number | null;
}

/** The series of one scope of objects, and the keys of the series to write. */
export class EventScope {
  /** In the order of their last record. */
  readonly series = new Map<string, Series>();
  readonly queue = new RetryQueue(LIMITS.eventSeries.value);

  /** Adds a series, or counts the record of a known one. Returns whether the series must be written. */
  record(key: string, subject: EventSubject, text: EventText, nowMs: number): boolean {
    const series = this.series.get(key);
    if (series === undefined) return this.#add(key, { subject, text }, nowMs);
    this.series.delete(key);
    this.series.set(key, series);
    return repeat(series, text, nowMs);
  }

  clear(): void {
    this.series.clear();
    this.queue.clear();
  }

  /** Returns whether the series was added. If there are too many series, first forgets old ones. */
  #add(key: string, { subject, text }: Pick<Series, "subject" | "text">, nowMs: number): boolean {
    if (this.series.size >= LIMITS.eventSeries.value) {
      for (const [other, { lastRecordMs }] of this.series) {
        if (nowMs - lastRecordMs <= FORGOTTEN_MS) break;
        this.series.delete(other);
      }
      if (this.series.size >= LIMITS.eventSeries.value) return false;
    }
    this.series.set(key, { subject, text, count: 1, isCreated: false, lastRecordMs: nowMs, lastWriteMs: null });
    return true;
  }
}

/** Counts the record. Returns whether the series must be written. */
function repeat(series: Series, text: EventText, nowMs: number): boolean {
  series.count += 1;
  series.lastRecordMs = nowMs;
  if (series.lastWriteMs === null) {
    series.text = text;
    return false;
  }
  const sinceMs = nowMs - series.lastWriteMs;
  if (series.text.note === text.note) return sinceMs >= SERIES_MS;
  if (sinceMs < NOTE_MS) return false;
  Object.assign(series, { text, count: 1, isCreated: false });
  return true;
}
