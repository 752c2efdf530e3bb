import type { Outcome } from "../../core/resolution.ts";
import type { ErrorCode } from "../../formats/errors.ts";
import type { Change } from "../impact.ts";

// The data of the page that `map` writes, in plain JSON. A name or a text occurs once, and other records refer to it by
// its index in its list, so that a map of 10,000 resources takes less than 1 MB. What is wrong comes first in each list
// but that of the selectors, because each list has a limit (LIMITS.map*).

/**
 * The states of what a map shows, most important first. The state of a resource is its outcome, unless a check finds
 * that it or its selector is faulty, or that its annotations are stale. Only selectors are malformed, and only unread
 * objects are unjudged.
 */
export const STATES = [
  "conflict", "refused", "malformed", "faulty", "stale", "default", "unjudged", "resolved",
] as const;
export type State = (typeof STATES)[number];

export interface RoleMap {
  /** The folder whose objects are a cluster of their own; null if all objects are one cluster. */
  readonly root: string | null;
  /** Whether the objects are in a cluster, from which `why` can read each of them. */
  readonly isCluster: boolean;
  /** The account of the controller's own role; null if no setting tells it. */
  readonly controllerAccount: string | null;
  readonly totals: MapTotals;
  readonly namespaces: readonly MapNamespace[];
  /** Such as `Bucket.s3.services.k8s.aws`. */
  readonly kinds: readonly string[];
  readonly roles: readonly MapRole[];
  /** Sorted by name. */
  readonly selectors: readonly MapSelector[];
  readonly findings: readonly MapFinding[];
  readonly reasons: readonly Reason[];
  readonly uses: readonly Use[];
  /** The other objects that have findings, such as Namespaces. */
  readonly objects: readonly MapObject[];
  readonly unjudged: readonly MapUnjudged[];
  /** How the roles of resources change; null if the map shows no change. */
  readonly moves: readonly Move[] | null;
  /** Sentences that state what the map leaves out. */
  readonly omitted: readonly string[];
}

/** The numbers of all objects, also of those that the map leaves out. */
export interface MapTotals {
  readonly resources: number;
  readonly namespaces: number;
  readonly selectors: number;
  /** The number of resources, malformed or faulty selectors, and unread objects in each state. */
  readonly states: Readonly<Record<State, number>>;
}

export interface MapNamespace {
  readonly name: string;
  /** Sorted by key. */
  readonly labels: readonly (readonly [key: string, value: string])[];
  /** Whether the input contains the Namespace. The labels of another namespace are unknown. */
  readonly isKnown: boolean;
  /** The indexes of the malformed selectors that are written for the namespace. Controllers ignore them. */
  readonly ignored: readonly number[];
}

export interface MapRole {
  readonly arn: string;
  /** Null if the ARN names no account. */
  readonly account: string | null;
}

export interface MapSelector {
  readonly name: string;
  readonly state: "resolved" | "malformed" | "faulty";
  /** The index of the role; null if the selector has no ARN. */
  readonly role: number | null;
  /** What the selector asks of a resource, such as `spec.namespaceSelector.names: namespace team-a`. */
  readonly conditions: readonly string[];
  /** The namespaces that a malformed selector names, at most 20; [] for other selectors. */
  readonly names: readonly string[];
  /** The session settings, without confidential values. */
  readonly session: readonly string[];
  readonly findings: readonly number[];
  /** The file and line, such as `team-a.yaml:7`; null if the selector is in a cluster. */
  readonly place: string | null;
}

/** A finding of a check, without the object that has it. */
export interface MapFinding {
  readonly code: string;
  readonly severity: "deny" | "warn";
  readonly path: string;
  readonly message: string;
  readonly fix: string;
}

/** Why resources have the role that they have. */
export interface Reason {
  readonly state: State;
  readonly outcome: Outcome;
  /** Why no role resolves; null if one does. */
  readonly code: ErrorCode | null;
  /** The index of the role; null if no role resolves, or if it is unknown. */
  readonly role: number | null;
  /** The indexes of the selectors that select the resources. */
  readonly selectors: readonly number[];
  /** The CAPA identities, from the one to which the object refers to the source of the credentials. */
  readonly chain: readonly string[];
  /** Such as `eu-west-1 (set by the namespace)`; null if the region is unknown. */
  readonly region: string | null;
  readonly message: string;
  readonly findings: readonly number[];
}

/** Resources of one namespace and kind that have the role for the same reason. */
export type Use = readonly [
  namespace: number,
  /** -1 for several kinds that the map does not tell apart. */
  kind: number,
  reason: number,
  count: number,
  /** The first names, sorted. */
  names: readonly string[],
];

/** Resources of one namespace and kind whose roles change in the same way. */
export type Move = readonly [
  namespace: number,
  kind: number,
  change: Change,
  /** The index of the reason; -1 if the resources do not exist. */
  before: number,
  after: number,
  count: number,
  names: readonly string[],
];

export interface MapObject {
  readonly kind: string;
  /** "" for a cluster-scoped object. */
  readonly namespace: string;
  readonly name: string;
  readonly findings: readonly number[];
  readonly place: string | null;
}

/** Objects that were not judged. */
export interface MapUnjudged {
  /** The file, or the kind of a cluster; null for other objects of a cluster. */
  readonly file: string | null;
  readonly count: number;
  /** Such as `2 objects in Kustomize patches`. */
  readonly what: string;
  /** A command that judges them, or what to do. */
  readonly fix: string;
}
