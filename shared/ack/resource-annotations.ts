import { desiredRegion } from "../core/resolve.ts";
import type { Region } from "../core/resolution.ts";
import {
  ACK_PREFIX, ADOPTED_ANNOTATION, DELETION_POLICY_ANNOTATION,
  IGNORE_FIELD_DRIFT_ANNOTATION, isServiceDeletionPolicy, NAMESPACE_ANNOTATIONS, PROPOSED_TEAM_ANNOTATION,
  READ_ONLY_ANNOTATION, REGION_ANNOTATION, RESOURCE_ANNOTATIONS, TEAM_ANNOTATION,
} from "../core/annotation-keys.ts";
import { SELECTOR_GROUP } from "../core/ack-groups.ts";
import type { ACKResource } from "../core/ack-resource.ts";
import type { DecisionSettings } from "../core/context.ts";
import { parseARN, partitionOfRegion } from "../formats/arn.ts";
import { annotationPath, type JsonObject, stringAt, valueAt } from "../formats/json.ts";
import { closest } from "../formats/nearest.ts";
import { printable, quote } from "../formats/text.ts";
import { LIMITS } from "../core/limits.ts";
import type { Fault, QuickCheck } from "../core/check.ts";
import { checkOf } from "../core/field-rule.ts";
import type { ResourceChange } from "./resource-change.ts";
import { recordedResolutionCheck } from "../core/recorded-resolution.ts";
import { DELETION_POLICY, REGION_NAME, TRUE_OR_FALSE, type ValueType } from "../core/value-types.ts";
import { by, remove, rename, type Repair, set } from "../core/repair.ts";
import { RESOLUTION } from "./requirements.ts";
import { booleanRepairs, deletionPolicyRepairs, regionRepairs } from "../core/meant-values.ts";

/** ACK-02 for ACK resources. */
export const ACK_02 = recordedResolutionCheck<ResourceChange>(RESOLUTION, ({ resource, stored }) => (
  { annotations: resource.annotations, stored: stored?.resource.annotations }
));

const REGION_PATH = annotationPath(REGION_ANNOTATION);
const REGION_FIX = "set a region of the role's partition, such as eu-west-1, or remove the annotation";

export const ACK_10 = checkOf<ResourceChange>({
  id: "ACK-10",
  severity: "deny",
  reason: "Controllers accept any text as a region. With an invalid region, every AWS call for the resource fails. "
    + "A role cannot be used in a region of another partition.",
  fix: REGION_FIX,
  example: `metadata: {annotations: {${REGION_ANNOTATION}: Frankfurt}}`,
  at: [REGION_PATH],
  type: REGION_NAME,
  says: (value, fault) => `${value} ${fault}`,
  policySays: "the value is not a region",
  repairs: (value, path) => regionRepairs(path, value),
}, function* otherPartition(region, { object, resolution }) {
  const partition = parseARN(resolution.roleARN ?? "")?.partition ?? null;
  const ofRegion = recordedPartition(object, region) ?? partitionOfRegion(region);
  if (partition === null || ofRegion === null || ofRegion === partition) return;
  const found = `region ${quote(region)} is in partition ${quote(ofRegion)}`;
  const message = `${found}, but the role is in partition ${quote(partition)}`;
  yield { message, fix: REGION_FIX, repairs: by(remove(REGION_PATH)) };
});

/**
 * The part of ACK-10 that judges the region of a resource that has no annotation: that of its namespace or, with CARM,
 * that of the controllers. IRS-04 compares the latter with the roles of selectors.
 */
export const ACK_10_OF_DEFAULTS: QuickCheck<ResourceChange> = {
  ...ACK_10,
  requires: RESOLUTION,
  find(change): readonly Fault[] {
    const partition = parseARN(change.resolution.roleARN ?? "")?.partition ?? null;
    const region = defaultRegionOf(change);
    const ofRegion = region === null ? null : partitionOfRegion(region.value);
    if (partition === null || region === null || ofRegion === null || ofRegion === partition) return [];
    const source = region.from === "namespace" ? "the default region of the namespace," : "that of the controllers,";
    const message = `region ${quote(region.value)}, ${source} is in partition ${quote(ofRegion)}, `
      + `but the role is in partition ${quote(partition)}`;
    const fix = `set ${REGION_ANNOTATION} to a region of the role's partition, or correct the default region`;
    return [{ path: ["metadata"], message, fix }];
  },
};

/** Returns the region that the resource does not set itself; null if no check of resources judges it. */
function defaultRegionOf({ inventory, resource, resolution: { via }, settings }: ResourceChange): Region | null {
  const region = desiredRegion(inventory, resource, settings);
  if (region === null || region.from === "resource") return null;
  return region.from === "controller" && via === "selector" ? null : region;
}

/**
 * Returns the partition that the status records for the region, or null. The names of regions do not tell the partition
 * of a region that is newer than this release. Controllers record it since ACK runtime v0.59.0.
 */
function recordedPartition(object: JsonObject, region: string): string | null {
  const metadata = valueAt(object, ["status", "ackResourceMetadata"]);
  const partition = stringAt(metadata, "partition") ?? "";
  return partition === "" || stringAt(metadata, "region") !== region ? null : partition;
}

export const ACK_11 = checkOf({
  id: "ACK-11",
  severity: "deny",
  reason: "Controllers treat every policy except delete as retain. "
    + "With a misspelled policy, the AWS resource remains and continues to cost money.",
  fix: "set the deletion policy to delete or retain, in lower case",
  example: `metadata: {annotations: {${DELETION_POLICY_ANNOTATION}: Delete}}`,
  at: [annotationPath(DELETION_POLICY_ANNOTATION)],
  type: DELETION_POLICY,
  says: (value, fault) => `${value} ${fault}`,
  policySays: "the value is neither delete nor retain",
  repairs: (value, path) => deletionPolicyRepairs(path, value),
});

export const ACK_13 = checkOf({
  id: "ACK-13",
  severity: "warn",
  reason: "Controllers treat every value of the annotations adopted and read-only except true (in upper or lower case) "
    + "as false, even yes and 1.",
  fix: 'set "true" or "false"',
  example: `metadata: {annotations: {${READ_ONLY_ANNOTATION}: 'yes'}}`,
  at: [annotationPath(ADOPTED_ANNOTATION), annotationPath(READ_ONLY_ANNOTATION)],
  type: TRUE_OR_FALSE,
  says: (value, fault) => `${value} ${fault}, so controllers treat it as false`,
  policySays: 'the value is neither "true" nor "false"',
  repairs: (value, path) => booleanRepairs(path, value),
});

export const ACK_15: QuickCheck<ResourceChange> = {
  id: "ACK-15",
  severity: "warn",
  reason: "Controllers ignore unknown annotations, so a misspelled annotation has no effect. Controllers read some "
    + "annotations, such as services.k8s.aws/owner-account-id, only on namespaces.",
  fix: "remove the annotation",
  example: "metadata: {annotations: {services.k8s.aws/deletion-polcy: retain}}",
  when: ({ resource }) => resource.annotations.size > 0,
  *find({ resource, settings }): Iterable<Fault> {
    for (const [key, value] of resource.annotations) {
      const path = annotationPath(key);
      if (NAMESPACE_ANNOTATIONS.has(key) || isServiceDeletionPolicy(key)) {
        const message = "controllers read this annotation on namespaces only, and ignore it on a resource";
        const fix = "move the annotation to the namespace, or remove it";
        yield { path, message, fix, repairs: renamedOrRemoved(resource, key, value) };
      } else {
        for (const fault of unknownAnnotation(key, RESOURCE_ANNOTATIONS, settings)) {
          yield { ...fault, repairs: renamedOrRemoved(resource, key, value) };
        }
      }
    }
  },
};

/** Returns the repairs of an annotation that controllers ignore. */
function renamedOrRemoved({ annotations, group }: ACKResource, key: string, value: string): readonly Repair[] {
  const path = annotationPath(key);
  const name = key === `${group}/deletion-policy` ? DELETION_POLICY_ANNOTATION : nameOf(key, RESOURCE_ANNOTATIONS);
  // A new region or new adoption fields could be those of another resource.
  const isHarmless = name !== null && (HARMLESS.get(name)?.faults(value).length ?? 1) === 0 && !annotations.has(name);
  const removal = { when: "to drop it", edits: [remove(path)] };
  if (!isHarmless) return by(remove(path));
  return [{ when: `if ${name} is meant`, edits: rename(path, { key: name }, value) }, removal];
}

/** The type of the values of annotations that decide neither the account nor the region of a resource. */
const HARMLESS: ReadonlyMap<string, ValueType> = new Map([
  [DELETION_POLICY_ANNOTATION, DELETION_POLICY], [ADOPTED_ANNOTATION, TRUE_OR_FALSE],
  [READ_ONLY_ANNOTATION, TRUE_OR_FALSE],
]);

/** The names of annotations in proposals for ACK, and those that controllers read. */
const PROPOSED: ReadonlyMap<string, string> = new Map([
  [`${ACK_PREFIX}aws-region`, REGION_ANNOTATION], [PROPOSED_TEAM_ANNOTATION, TEAM_ANNOTATION],
]);

/**
 * Yields a fault if the key is one of ACK that controllers do not know. `known` are those that they read. A controller
 * may have keys of its own, such as `eks.services.k8s.aws/NAME`.
 */
export function* unknownAnnotation(
  key: string, known: ReadonlySet<string>, { mode }: Pick<DecisionSettings, "mode">,
): Iterable<Fault> {
  const [, service] = TEAM_OF_SERVICE.exec(key) ?? [];
  if (known.has(key) || !(key.startsWith(ACK_PREFIX) || service !== undefined)) return;
  const fix = service === undefined ? nameFix(key, known) : known.has(TEAM_ANNOTATION) && serviceFix(service, mode);
  const message = "controllers do not know this annotation";
  yield { path: annotationPath(key), message, ...(fix !== false && { fix }) };
}

/** Returns the fix if the key misspells an annotation that controllers read, or else false. */
function nameFix(key: string, known: ReadonlySet<string>): string | false {
  const name = nameOf(key, known);
  return name !== null && `set ${name} if you meant that, or remove the annotation`;
}

/** Returns the annotation that controllers read and that the key misspells, or null. */
function nameOf(key: string, known: ReadonlySet<string>): string | null {
  const name = PROPOSED.get(key) ?? closestName(key, known);
  return name !== null && known.has(name) ? name : null;
}

/** Matches the annotation that a proposal for CARM has for the team of one service. */
const TEAM_OF_SERVICE = new RegExp(`^(.*)\\.${TEAM_ANNOTATION.replaceAll(".", "\\.")}$`);

/** Returns how to choose a role for one service. The annotation `team-id` would choose it for all services. */
function serviceFix(service: string, mode: DecisionSettings["mode"]): string {
  return mode === "carm"
    ? `remove the annotation, and add the key ${printable(service)}.ID to the CARM map, where ID is the account or `
      + "team of the namespace (--service-level-carm)"
    : `remove the annotation, and name the group ${printable(service)}.${SELECTOR_GROUP} in an IAMRoleSelector`;
}

/** Compares only the names after the prefix, because the long common prefix would make all keys similar. */
function closestName(key: string, known: ReadonlySet<string>): string | null {
  const name = closest(key.slice(ACK_PREFIX.length), Array.from(known, (one) => one.slice(ACK_PREFIX.length)));
  return name === null ? null : ACK_PREFIX + name;
}

const DRIFT_PATH = annotationPath(IGNORE_FIELD_DRIFT_ANNOTATION);

/** Matches one field path in the annotation `ignore-field-drift`. A path cannot contain list positions or quotes. */
const SPEC_PATH = /^spec(\.[A-Za-z0-9_-]+)+$/;

export const ACK_20: QuickCheck<ResourceChange> = {
  id: "ACK-20",
  severity: "warn",
  reason:
    "With the feature gate IgnoreFieldDrift, an invalid path has no effect or stops the reconciliation. If the "
    + "feature gate is disabled, the annotation has no effect.",
  fix: "write the paths of spec fields, separated by commas: spec.tags, spec.scaling.size",
  example: `metadata: {annotations: {${IGNORE_FIELD_DRIFT_ANNOTATION}: 'spec.tags[0], tags'}}`,
  find: ({ resource }) => {
    const paths = resource.annotations.get(IGNORE_FIELD_DRIFT_ANNOTATION);
    return paths === undefined ? [] : specPathFaults(paths.split(","));
  },
};

function* specPathFaults(listed: readonly string[]): Iterable<Fault> {
  const limit = LIMITS.listedEntries.value;
  if (listed.length > limit) {
    const message = `${listed.length} paths exceed the limit of ${limit}`;
    yield { path: DRIFT_PATH, message };
  }
  for (const [index, one] of listed.slice(0, limit).entries()) {
    const path = one.trim();
    if (path === "" || SPEC_PATH.test(path)) continue;
    const message = `${quote(path)} is not the path of a spec field`;
    yield { path: DRIFT_PATH, message, fix: ACK_20.fix, repairs: specPathRepairs(listed, index, path) };
  }
}

/** Returns the repair that corrects one path of the list, or removes the path. */
function specPathRepairs(listed: readonly string[], index: number, path: string): readonly Repair[] {
  const written = path.replace(/\[.*$/, "");
  const meantPath = [written, `spec.${written}`].find((one) => SPEC_PATH.test(one));
  const paths = listed.toSpliced(index, 1, ...meantPath === undefined ? [] : [meantPath]);
  const isEmpty = paths.every((one) => one.trim() === "");
  return by(isEmpty ? remove(DRIFT_PATH) : set(DRIFT_PATH, paths.map((one) => one.trim()).join(",")));
}
