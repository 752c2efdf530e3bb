import {
  DEFAULT_REGION_ANNOTATION, DELETION_POLICY_ANNOTATION, REGION_ANNOTATION, RESOURCE_ANNOTATIONS,
} from "../../annotation-keys.ts";
import { serviceOf } from "../../carm/maps.ts";
import { ACK_GROUPS } from "../../kubernetes/ack-groups.ts";
import { annotationPath } from "../../kubernetes/field-path.ts";
import { closest, compareText, countOf, listOf, NAMED, quote } from "../../kubernetes/text.ts";
import { resourceName } from "../../resolution/change-set.ts";
import { DELETION_POLICY_DELETE, DELETION_POLICY_RETAIN } from "../../resolution/deletion-policy.ts";
import type { Fault, QuickCheck } from "../check.ts";
import type { NamespaceChange } from "./change.ts";

const OF_SERVICE = /^(.+)\.services\.k8s\.aws\/deletion-policy$/;
const POLICIES: ReadonlySet<string> = new Set([DELETION_POLICY_DELETE, DELETION_POLICY_RETAIN]);

export const NS_09: QuickCheck<NamespaceChange> = {
  id: "NS-09",
  severity: "deny",
  waivable: false,
  reason: "Controllers take any other text silently for retain, and leave behind in AWS what was to be deleted.",
  fix: "write delete or retain",
  example: "metadata: {annotations: {s3.services.k8s.aws/deletion-policy: Delete}}",
  *find({ state }): Iterable<Fault> {
    for (const [key, value] of state.annotations) {
      if (!OF_SERVICE.test(key) || value === "" || POLICIES.has(value)) continue;
      yield { path: annotationPath(key), message: `${quote(value)} is no deletion policy, and is taken for retain` };
    }
  },
};

export const NS_09B: QuickCheck<NamespaceChange> = {
  id: "NS-09b",
  severity: "warn",
  waivable: false,
  reason: "Controllers read a namespace's deletion policy under the lower-case name of their own service alone, and ignore every other.",
  fix: "write SERVICE.services.k8s.aws/deletion-policy with the service's lower-case name, such as s3",
  example: "metadata: {annotations: {services.k8s.aws/deletion-policy: retain}}",
  *find({ inventory, state }): Iterable<Fault> {
    const installed = inventory.groups;
    for (const key of state.annotations.keys()) {
      const [, service] = OF_SERVICE.exec(key) ?? [];
      if (key === DELETION_POLICY_ANNOTATION) yield { path: annotationPath(key), message: "the deletion policy names no service, so it is ignored on a namespace" };
      else if (service !== undefined) yield* serviceFaults(key, service, installed);
    }
  },
};

function* serviceFaults(key: string, service: string, installed: ReadonlySet<string>): Iterable<Fault> {
  const group = `${service}.services.k8s.aws`;
  if (ACK_GROUPS.includes(group) || installed.has(group)) return;
  const meant = closest(service, ACK_GROUPS.map(serviceOf));
  const message = `${quote(service)} is no service of ACK, so the annotation is ignored`;
  yield { path: annotationPath(key), message, ...(meant !== null && { fix: `write ${meant}.${DELETION_POLICY_ANNOTATION}, if that is the service` }) };
}

export const NS_10: QuickCheck<NamespaceChange> = {
  id: "NS-10",
  severity: "warn",
  waivable: false,
  reason: "Controllers read these annotations from resources and ignore them on a namespace.",
  fix: "annotate the resources themselves",
  example: "metadata: {annotations: {services.k8s.aws/region: eu-west-1}}",
  *find({ state }): Iterable<Fault> {
    for (const key of state.annotations.keys()) {
      if (!RESOURCE_ANNOTATIONS.has(key) || key === DELETION_POLICY_ANNOTATION) continue; // of which NS-09b speaks
      const fix = key === REGION_ANNOTATION ? { fix: `write ${DEFAULT_REGION_ANNOTATION} on the namespace, or annotate the resources themselves` } : {};
      yield { path: annotationPath(key), message: "the annotation is ignored on a namespace", ...fix };
    }
  },
};

export const NS_13: QuickCheck<NamespaceChange> = {
  id: "NS-13",
  severity: "warn",
  waivable: false,
  reason: "ACK resources wait for their finalizers, which need the namespace's labels and annotations and the selectors of its resources until the last of them is gone.",
  fix: "leave the namespace's labels and annotations and the selectors of its resources as they are until it is gone",
  example: "kubectl delete namespace team-a # while a Bucket is in it",
  requires: ["resources"],
  on: ["DELETE"],
  *find({ inventory, name }): Iterable<Fault> {
    const resources = inventory.resources.inNamespace(name);
    if (resources.size === 0) return;
    // The first few as they were found: it may hold very many.
    const some = [...resources].slice(0, NAMED).map(resourceName).toSorted(compareText);
    yield { path: ["metadata", "name"], message: `with the namespace go ${countOf(resources.size, "resource")}: ${listOf(some, resources.size)}` };
  },
};
