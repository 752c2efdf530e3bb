import type { EventSubject } from "../formats/object-meta.ts";
import type { Paced } from "../formats/paced.ts";
import type { AnnotatedObject } from "./annotated-objects.ts";
import { findingSentences } from "./check.ts";
import type { DecisionSettings } from "./context.ts";
import type { Inventory } from "./inventory.ts";
import type { Resolution } from "./resolution.ts";

/** A problem of an object, for an Event. */
export interface Problem {
  readonly subject: EventSubject;
  /** A short CamelCase reason. The number of reasons is small, because each object and reason has one Event series. */
  readonly reason: string;
  /** What is wrong, and how to fix it. */
  readonly note: string;
}

/** A stored object and its role. */
export interface ResolvedObject {
  readonly resource: AnnotatedObject;
  readonly resolution: Resolution;
}

/** What problems depend on. */
export interface ProblemScope {
  readonly inventory: Inventory;
  readonly settings: DecisionSettings;
}

/** The problems of the stored objects of a kind that choose roles, such as selectors. */
export interface StoreProblems {
  /** Returns a number that changes when an object changes whose problems are urgent. Default: none is urgent. */
  readonly revision?: (inventory: Inventory) => number;
  /** Reports the problems. Pauses regularly. */
  readonly scan: (scope: ProblemScope, report: (problem: Problem) => void) => Paced<void>;
}

/** Returns the note of a problem: a message and its fix as sentences. */
export function noteOf(message: string, fix: string): string {
  return findingSentences({ message: `${message.charAt(0).toUpperCase()}${message.slice(1)}`, fix });
}
