import {
  ACK_PREFIX, ADOPTED_ANNOTATION, DELETION_POLICY_ANNOTATION, IGNORE_FIELD_DRIFT_ANNOTATION, isServiceDeletionPolicy,
  NAMESPACE_ANNOTATIONS, READ_ONLY_ANNOTATION, RESOLUTION_KEYS, RESOURCE_ANNOTATIONS,
} from "../../annotation-keys.ts";
import { annotationPath } from "../../kubernetes/field-path.ts";
import { closest, quote } from "../../kubernetes/text.ts";
import { resolutionAnnotations } from "../../resolution/annotations.ts";
import { DELETION_POLICY_DELETE, DELETION_POLICY_RETAIN } from "../../resolution/deletion-policy.ts";
import type { Fault, QuickCheck } from "../check.ts";
import { RESOLUTION, type ResourceChange } from "./change.ts";

export const ACK_02: QuickCheck<ResourceChange> = {
  id: "ACK-02",
  severity: "warn",
  waivable: false,
  reason: "The annotations that tell a resource's role are the webhook's to write: a value of another's could pretend that a role was resolved.",
  fix: "leave it out: the webhook writes what holds",
  example: "metadata: {annotations: {ack-role-resolver.io/role-arn: 'arn:aws:iam::111122223333:role/admin'}}",
  requires: RESOLUTION,
  *find({ resource, resolution }): Iterable<Fault> {
    const truth = resolutionAnnotations(resolution);
    for (const key of RESOLUTION_KEYS) {
      const value = resource.annotations.get(key);
      if (value === undefined || value === truth.get(key)) continue;
      const expected = truth.get(key);
      const holds = expected === undefined ? "nothing is to be said there" : `${quote(expected)} holds`;
      // Whatever severity is set for the check: an object is never refused for these.
      yield { path: annotationPath(key), message: `${quote(value)} is not what was resolved: ${holds}`, severity: "warn" };
    }
  },
};

export const ACK_11: QuickCheck<ResourceChange> = {
  id: "ACK-11",
  severity: "deny",
  waivable: false,
  reason: "Any policy but delete reads as retain, so a typo leaves the resource in AWS for good, and its costs.",
  fix: "write delete or retain, in lower case",
  example: `metadata: {annotations: {${DELETION_POLICY_ANNOTATION}: Delete}}`,
  *find({ resource }): Iterable<Fault> {
    const policy = resource.annotations.get(DELETION_POLICY_ANNOTATION);
    if (policy === undefined || policy === DELETION_POLICY_DELETE || policy === DELETION_POLICY_RETAIN) return;
    yield { path: annotationPath(DELETION_POLICY_ANNOTATION), message: `${quote(policy)} is neither delete nor retain, and reads as retain` };
  },
};

export const ACK_13: QuickCheck<ResourceChange> = {
  id: "ACK-13",
  severity: "warn",
  waivable: false,
  reason: "Only true, in any case, switches these on: yes, 1 and the like read as false.",
  fix: 'write "true" or "false"',
  example: `metadata: {annotations: {${READ_ONLY_ANNOTATION}: 'yes'}}`,
  *find({ resource }): Iterable<Fault> {
    for (const key of [ADOPTED_ANNOTATION, READ_ONLY_ANNOTATION]) {
      const value = resource.annotations.get(key);
      if (value !== undefined && !/^(true|false)$/i.test(value)) yield { path: annotationPath(key), message: `${quote(value)} reads as false` };
    }
  },
};

export const ACK_14: QuickCheck<ResourceChange> = {
  id: "ACK-14",
  severity: "warn",
  waivable: false,
  reason: "Controllers read these of the namespace alone, so on a resource they choose no account, team, endpoint or region.",
  fix: "annotate the namespace with it, or leave it out",
  example: "metadata: {annotations: {services.k8s.aws/owner-account-id: '111122223333'}}",
  *find({ resource }): Iterable<Fault> {
    for (const key of resource.annotations.keys()) {
      if (isOfNamespaces(key)) yield { path: annotationPath(key), message: "controllers read it of a namespace and ignore it on a resource" };
    }
  },
};

function isOfNamespaces(key: string): boolean {
  return NAMESPACE_ANNOTATIONS.has(key) || isServiceDeletionPolicy(key);
}

export const ACK_15: QuickCheck<ResourceChange> = {
  id: "ACK-15",
  severity: "warn",
  waivable: false,
  reason: "Controllers ignore an annotation that they do not know, so a typo does nothing.",
  fix: "leave it out",
  example: "metadata: {annotations: {services.k8s.aws/deletion-polcy: retain}}",
  *find({ resource }): Iterable<Fault> {
    for (const key of resource.annotations.keys()) {
      if (!key.startsWith(ACK_PREFIX) || RESOURCE_ANNOTATIONS.has(key) || NAMESPACE_ANNOTATIONS.has(key)) continue;
      yield { path: annotationPath(key), message: "controllers know no such annotation", ...meant(key) };
    }
  },
};

/** The prefix is long and always right, so what comes after it decides. */
function meant(key: string): { readonly fix?: string } {
  const names = Array.from(RESOURCE_ANNOTATIONS, (known) => known.slice(ACK_PREFIX.length));
  const name = closest(key.slice(ACK_PREFIX.length), names);
  return name === null ? {} : { fix: `write ${ACK_PREFIX}${name}, if that was meant, or leave it out` };
}

/** A path as the annotation lists them; list positions and quoting are not known there. */
const SPEC_PATH = /^spec(\.[A-Za-z0-9_-]+)+$/;

export const ACK_20: QuickCheck<ResourceChange> = {
  id: "ACK-20",
  severity: "warn",
  waivable: false,
  reason: "With the feature gate IgnoreFieldDrift a path that cannot be read stops the resource or does nothing; without the gate the annotation does nothing.",
  fix: "list paths of the spec as its YAML has them, separated by commas: spec.tags, spec.scaling.size",
  example: `metadata: {annotations: {${IGNORE_FIELD_DRIFT_ANNOTATION}: 'spec.tags[0], tags'}}`,
  *find({ resource }): Iterable<Fault> {
    const listed = (resource.annotations.get(IGNORE_FIELD_DRIFT_ANNOTATION) ?? "").split(",").map((path) => path.trim());
    for (const path of listed) {
      if (path === "" || SPEC_PATH.test(path)) continue;
      yield { path: annotationPath(IGNORE_FIELD_DRIFT_ANNOTATION), message: `${quote(path)} is not the path of a field of the spec` };
    }
  },
};
