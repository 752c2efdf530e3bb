import { LIMITS } from "../decisions/limits.ts";
import type { EventSubject } from "../decisions/problems/problem.ts";
import type { EventText } from "./event-object.ts";
import { RetryQueue } from "./retry-queue.ts";

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
