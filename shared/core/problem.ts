import type { EventSubject } from "../formats/object-meta.ts";

/** A problem of an object, for an Event. */
export interface Problem {
  readonly subject: EventSubject;
  /** A short CamelCase reason. The number of reasons is small, because each object and reason has one Event series. */
  readonly reason: string;
  /** What is wrong, and how to fix it. */
  readonly note: string;
}
