import {
  ACK_PREFIX, ADOPTED_ANNOTATION, DELETION_POLICY_ANNOTATION, IGNORE_FIELD_DRIFT_ANNOTATION, isServiceDeletionPolicy,
  NAMESPACE_ANNOTATIONS, READ_ONLY_ANNOTATION, REGION_ANNOTATION, RESOURCE_ANNOTATIONS,
} from "../contract/annotation-keys.ts";
import { isRegion, parseARN, partitionOfRegion } from "../formats/arn.ts";
import { annotationPath } from "../formats/json.ts";
import { closest, quote } from "../formats/text.ts";
import { LIMITS } from "../contract/limits.ts";
import type { Fault, QuickCheck } from "./check.ts";
import type { ResourceChange } from "./resource-change.ts";
import { DELETION_POLICY_DELETE, DELETION_POLICY_RETAIN } from "./resource-deletion.ts";

export const ACK_10: QuickCheck<ResourceChange> = {
  id: "ACK-10",
  severity: "deny",
  waivable: false,
  reason: "Controllers accept any text as a region. With an invalid region, every AWS call for the resource fails. "
    + "A role cannot be used in a region of another partition.",
  fix: "set a region of the role's partition, such as eu-west-1, or remove the annotation",
  example: `metadata: {annotations: {${REGION_ANNOTATION}: Frankfurt}}`,
  *find({ resource, resolution }): Iterable<Fault> {
    const path = annotationPath(REGION_ANNOTATION);
    const region = resource.annotations.get(REGION_ANNOTATION);
    if (region === undefined) return;
    const partition = parseARN(resolution.roleARN ?? "")?.partition ?? null;
    if (!isRegion(region)) yield { path, message: `${quote(region)} is not a region` };
    else if (partition !== null && partitionOfRegion(region) !== partition) {
      const found = `region ${quote(region)} is in partition ${partitionOfRegion(region)}`;
      yield { path, message: `${found}, but the role is in partition ${quote(partition)}` };
    }
  },
};

export const ACK_11: QuickCheck<ResourceChange> = {
  id: "ACK-11",
  severity: "deny",
  waivable: false,
  reason: "Controllers treat every policy except delete as retain. "
    + "With a misspelled policy, the AWS resource remains and continues to cost money.",
  fix: "set the deletion policy to delete or retain, in lower case",
  example: `metadata: {annotations: {${DELETION_POLICY_ANNOTATION}: Delete}}`,
  *find({ resource }): Iterable<Fault> {
    const policy = resource.annotations.get(DELETION_POLICY_ANNOTATION);
    if (policy === undefined || policy === DELETION_POLICY_DELETE || policy === DELETION_POLICY_RETAIN) return;
    const message = `${quote(policy)} is neither delete nor retain, so controllers treat it as retain`;
    yield { path: annotationPath(DELETION_POLICY_ANNOTATION), message };
  },
};

export const ACK_13: QuickCheck<ResourceChange> = {
  id: "ACK-13",
  severity: "warn",
  waivable: false,
  reason: "Controllers treat every value of the annotations adopted and read-only except true (in upper or lower case) "
    + "as false, even yes and 1.",
  fix: 'set "true" or "false"',
  example: `metadata: {annotations: {${READ_ONLY_ANNOTATION}: 'yes'}}`,
  *find({ resource }): Iterable<Fault> {
    for (const key of [ADOPTED_ANNOTATION, READ_ONLY_ANNOTATION]) {
      const value = resource.annotations.get(key);
      if (value === undefined || /^(true|false)$/i.test(value)) continue;
      const message = `${quote(value)} is neither "true" nor "false", so controllers treat it as false`;
      yield { path: annotationPath(key), message };
    }
  },
};

export const ACK_15: QuickCheck<ResourceChange> = {
  id: "ACK-15",
  severity: "warn",
  waivable: false,
  reason: "Controllers ignore unknown annotations, so a misspelled annotation has no effect. Controllers read some "
    + "annotations, such as services.k8s.aws/owner-account-id, only on namespaces.",
  fix: "remove the annotation",
  example: "metadata: {annotations: {services.k8s.aws/deletion-polcy: retain}}",
  *find({ resource }): Iterable<Fault> {
    for (const key of resource.annotations.keys()) {
      const path = annotationPath(key);
      if (NAMESPACE_ANNOTATIONS.has(key) || isServiceDeletionPolicy(key)) {
        const message = "controllers read this annotation on namespaces only, and ignore it on a resource";
        yield { path, message, fix: "move the annotation to the namespace, or remove it" };
      } else if (key.startsWith(ACK_PREFIX) && !RESOURCE_ANNOTATIONS.has(key)) {
        yield { path, message: "controllers do not know this annotation", ...suggestedFix(key) };
      }
    }
  },
};

/** Compares only the names after the prefix, because the long common prefix would make all keys similar. */
function suggestedFix(key: string): { readonly fix?: string } {
  const names = Array.from(RESOURCE_ANNOTATIONS, (known) => known.slice(ACK_PREFIX.length));
  const name = closest(key.slice(ACK_PREFIX.length), names);
  return name === null ? {} : { fix: `set ${ACK_PREFIX}${name} if you meant that, or remove the annotation` };
}

/** Matches one field path in the annotation `ignore-field-drift`. A path cannot contain list positions or quotes. */
const SPEC_PATH = /^spec(\.[A-Za-z0-9_-]+)+$/;

export const ACK_20: QuickCheck<ResourceChange> = {
  id: "ACK-20",
  severity: "warn",
  waivable: false,
  reason: "If the feature gate IgnoreFieldDrift is enabled, an invalid path has no effect "
    + "or stops the reconciliation of the resource. If the feature gate is disabled, the annotation has no effect.",
  fix: "write the paths of spec fields, separated by commas: spec.tags, spec.scaling.size",
  example: `metadata: {annotations: {${IGNORE_FIELD_DRIFT_ANNOTATION}: 'spec.tags[0], tags'}}`,
  *find({ resource }): Iterable<Fault> {
    const listed = (resource.annotations.get(IGNORE_FIELD_DRIFT_ANNOTATION) ?? "").split(",");
    const limit = LIMITS.listedEntries.value;
    if (listed.length > limit) {
      const message = `${listed.length} paths exceed the limit of ${limit}`;
      yield { path: annotationPath(IGNORE_FIELD_DRIFT_ANNOTATION), message };
    }
    for (const path of listed.slice(0, limit).map((one) => one.trim())) {
      if (path === "" || SPEC_PATH.test(path)) continue;
      const message = `${quote(path)} is not the path of a spec field`;
      yield { path: annotationPath(IGNORE_FIELD_DRIFT_ANNOTATION), message };
    }
  },
};
