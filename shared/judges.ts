import {
  OTHER_DEFINITION_JUDGE, RESOURCE_DEFINITION_JUDGE, SELECTOR_DEFINITION_JUDGE,
} from "./ack/definition-judge.ts";
import { NAMESPACE_JUDGE } from "./ack/namespace-judge.ts";
import {
  ADOPTED_RESOURCE_JUDGE, FIELD_EXPORT_JUDGE, RESOURCE_JUDGE, RESOURCE_LIKE_JUDGE,
} from "./ack/resource-judge.ts";
import { SELECTOR_JUDGE, SELECTOR_LIKE_JUDGE } from "./ack/selector-judge.ts";
import { CLUSTER_JUDGE, CLUSTER_PART_JUDGE } from "./capa/cluster-judge.ts";
import { IDENTITY_JUDGE, IDENTITY_LIKE_JUDGE } from "./capa/identity-judge.ts";
import { CAPA_OF_NAMESPACES } from "./capa/namespace-changes.ts";
import { CARM_MAP_JUDGE, CARM_OF_NAMESPACES } from "./carm/judge.ts";
import { CARM_OF_SELECTORS } from "./carm/selectors-beside-maps.ts";
import { CONTROLLERS_OF_PODS, PODS_OF_WORKLOADS } from "./controllers/injection-judges.ts";
import { WORKLOAD_JUDGE } from "./controllers/judges.ts";
import { META_01 } from "./core/any-kind.ts";
import type { BoundChecks } from "./core/bind.ts";
import { isLimited } from "./core/binding.ts";
import type { CheckEntry, CheckInput } from "./core/check.ts";
import type { DecisionSettings } from "./core/context.ts";
import { withEffectOfWaivers } from "./core/ineffective-waivers.ts";
import type { Inventory, RoleObject } from "./core/inventory.ts";
import type { Extra, Judge, ReviewedID } from "./core/judge.ts";
import type { Kind, NamedKind } from "./core/kind.ts";
import { isCheckEnabled } from "./core/plan.ts";
import { ALWAYS_DENYING, OTHER_CHECKS } from "./core/profiles.ts";
import { NEEDS } from "./core/requirements.ts";
import { type CheckResult, runBoundChecks } from "./core/run.ts";
import { WAIVER_01 } from "./core/waiver.ts";
import type { JsonObject } from "./formats/json.ts";
import { objectReference } from "./formats/object-meta.ts";
import { drain, type Paced } from "./formats/paced.ts";
import { NameIndex } from "./formats/nearest.ts";
import { compareText, listOf, quote } from "./formats/text.ts";
import { POD_JUDGE } from "./injection/pod-judge.ts";
import { kindOf } from "./kinds.ts";
import { TRUST_OF_ROLES } from "./trust/role-trust.ts";

/** How the objects of each kind are judged. A kind without a judge has no checks. */
export const JUDGES: readonly Judge[] = [
  SELECTOR_JUDGE, SELECTOR_DEFINITION_JUDGE, SELECTOR_LIKE_JUDGE, RESOURCE_LIKE_JUDGE, RESOURCE_JUDGE,
  RESOURCE_DEFINITION_JUDGE, NAMESPACE_JUDGE, OTHER_DEFINITION_JUDGE, CARM_MAP_JUDGE, FIELD_EXPORT_JUDGE,
  ADOPTED_RESOURCE_JUDGE, IDENTITY_JUDGE, CLUSTER_JUDGE, CLUSTER_PART_JUDGE, IDENTITY_LIKE_JUDGE, POD_JUDGE,
  WORKLOAD_JUDGE,
];

/** The checks that a feature adds to the kinds of another one. */
const EXTRAS: readonly Extra[] = [
  CARM_OF_SELECTORS, CARM_OF_NAMESPACES, CAPA_OF_NAMESPACES, CONTROLLERS_OF_PODS, PODS_OF_WORKLOADS,
  TRUST_OF_ROLES,
];

const BY_KIND: ReadonlyMap<Kind, Judge> = new Map(JUDGES.map((judge) => [judge.kind, judge]));

/** Every check. Checks of several kinds of objects, such as IRS-00, stand in more than one list. */
const ALL: readonly CheckEntry[] = [
  ...JUDGES.flatMap(({ checks }) => checks), ...EXTRAS.flatMap(({ checks }) => checks), META_01,
  WAIVER_01,
];

/** Every check once, sorted by its id. */
export const CATALOGUE: readonly CheckEntry[] = ALL
  .filter(({ id }, i) => ALL.findIndex((one) => one.id === id) === i)
  .toSorted((a, b) => compareText(a.id, b.id));

/** Every id that `--check` and the annotation `ack-role-resolver.io/allow` accept. */
export const CHECK_IDS: ReadonlySet<string> = new Set(
  CATALOGUE.flatMap(({ id, fixed = false }) => (fixed ? [] : [id])),
);

/** Returns the severities with each check that `*` stands for. */
export function withOtherChecks(severities: DecisionSettings["checkSeverities"]): DecisionSettings["checkSeverities"] {
  const others = severities.get(OTHER_CHECKS);
  const ids = CATALOGUE.flatMap(({ id, severity, fixed = false }) => (
    others === undefined || severity !== "deny" || fixed || ALWAYS_DENYING.has(id) ? [] : [[id, others] as const]
  ));
  return new Map([...ids, ...[...severities].filter(([id]) => id !== OTHER_CHECKS)]);
}

/** Matches a value of --check whose check exists. */
export const CHECK_VALUE = `^(${[...CHECK_IDS].join("|")})=(deny|warn|off)$`;

/**
 * Returns what is wrong with the check in a value of --check such as `IRS-03=warn`, or null. The text for an unknown id
 * lists the most similar ids.
 */
export function checkFault(value: string): string | null {
  const [id = ""] = value.split("=", 1);
  if (CHECK_IDS.has(id)) return null;
  if (CATALOGUE.some((check) => check.id === id)) return `the severity of check ${id} is fixed`;
  const similar = new NameIndex(CHECK_IDS).guesses(id);
  const missing = `check ${quote(id)} does not exist`;
  if (similar.length === 0) return `${missing}; docs/checks.md lists the ids, such as IRS-03`;
  return `${missing}; similar ids: ${listOf(similar)}`;
}

/** Returns whether any check that needs access reviews is enabled: each of them is a request to the API server. */
export function needsAccessReviews(settings: Pick<DecisionSettings, "checkSeverities">): boolean {
  return CATALOGUE.some((check) => (
    check.requires?.includes(NEEDS.accessReviews) === true && isCheckEnabled(check, settings)
  ));
}

/** Returns how objects of the kind are judged; null if no check applies to them. */
export function judgeOfKind(kind: Kind): Judge | null {
  return BY_KIND.get(kind) ?? null;
}

/** Returns how objects of the type and name are judged; null if no check applies to them. */
export function judgeOf(type: NamedKind): Judge | null {
  const kind = kindOf(type);
  return kind === null ? null : judgeOfKind(kind);
}

/** Returns how an object is judged that has a role: its kind depends only on its type. */
export function judgeOfRoleObject({ group, kind }: Pick<RoleObject, "group" | "kind">): Judge | null {
  return judgeOf({ group, kind, name: "" });
}

/** Returns the checks that features add to the objects of the judge. */
function extrasOf({ kind }: Judge): readonly Extra[] {
  return EXTRAS.filter(({ of = kind }) => of === kind);
}

/** Returns whether any check of manifests applies to an object. */
export function isChecked(object: JsonObject, inventory: Pick<Inventory, "namespaces">): boolean {
  const judge = judgeOf(objectReference(object));
  if (judge === null) return false;
  return judge.isCheckedInFiles?.(object, inventory) !== false
    || extrasOf(judge).some((extra) => extra.isCheckedInFiles?.(object, inventory) === true);
}

/** Returns every check of the object's kind, with the data that the check examines. */
function checksOf(input: CheckInput, settings: DecisionSettings): readonly BoundChecks[] {
  const judge = judgeOf(objectReference(input.object));
  if (judge === null) return [];
  const own = judge.bind(input, settings);
  const extras = isLimited(own) ? [] : extrasOf(judge).flatMap(({ bind }) => bind(input, settings, judge));
  return withEffectOfWaivers(input, [...own, ...extras], CATALOGUE);
}

/**
 * Runs every check that applies to the change. Then applies the waivers and the severities. A fault that the stored
 * object already has is only a warning.
 */
export function runChecks(input: CheckInput, settings: DecisionSettings): CheckResult {
  return drain(runChecksPaced(input, settings));
}

/** Like `runChecks`, but pauses regularly, because a selector change can affect every resource in the cluster. */
export function* runChecksPaced(input: CheckInput, settings: DecisionSettings): Paced<CheckResult> {
  return yield* runBoundChecks(checksOf(input, settings), input, settings);
}

/** Returns the check that reports a write of an object that is too large to be read; null if no check applies. */
export function limitCheckOf({ limit }: Kind, operation: string): CheckEntry | null {
  const deletion = operation === "DELETE" ? limit : undefined;
  const code = deletion?.deletion ?? limit?.code;
  const check = CATALOGUE.find(({ id }) => id === code);
  return check === undefined ? null : { ...check, fix: deletion?.fix ?? check.fix };
}

/** See `Judge.stored`. */
export function storedObject(kind: Kind, id: ReviewedID, inventory: Inventory): JsonObject | null {
  return judgeOfKind(kind)?.stored?.(id, inventory) ?? null;
}
