import { DEFAULT_REGION_ANNOTATION, REGION_ANNOTATION } from "../contract/annotation-keys.ts";
import type { ACKResource } from "../contract/ack-resource.ts";
import { isRegion, partitionOfRegion } from "../formats/arn.ts";
import { annotationPath } from "../formats/json.ts";
import { quote } from "../formats/text.ts";
import type { Fault, QuickCheck } from "./check.ts";
import { listResources } from "./message-lists.ts";
import { annotationOf, type NamespaceChange, type NamespaceState } from "./namespace-change.ts";

const PATH = annotationPath(DEFAULT_REGION_ANNOTATION);

export const NS_07: QuickCheck<NamespaceChange> = {
  id: "NS-07",
  severity: "deny",
  waivable: false,
  reason: "Controllers accept any text as a region. With an invalid region, every AWS call for the resources of the "
    + "namespace fails.",
  fix: "set a region of the controllers' partition, such as eu-west-1",
  example: "metadata: {annotations: {services.k8s.aws/default-region: Frankfurt}}",
  *find({ settings, state }): Iterable<Fault> {
    const region = annotationOf(state, DEFAULT_REGION_ANNOTATION);
    if (region === "") return;
    if (!isRegion(region)) {
      yield { path: PATH, message: `${quote(region)} is not a region` };
    } else if (settings.region !== null && partitionOfRegion(region) !== partitionOfRegion(settings.region)) {
      const found = `region ${quote(region)} is in partition ${partitionOfRegion(region)}`;
      const expected = `the controllers are in partition ${partitionOfRegion(settings.region)}`;
      yield { path: PATH, message: `${found}, but ${expected}` };
    }
  },
};

export const NS_07B: QuickCheck<NamespaceChange> = {
  id: "NS-07b",
  severity: "warn",
  waivable: false,
  reason: "A resource stays in the region in which it was created. "
    + "If its desired region changes, controllers never reconcile it, and set no condition on it.",
  fix: "keep the default region, or first set services.k8s.aws/region of these resources to their current region",
  example: "metadata: {annotations: {services.k8s.aws/default-region: eu-west-1}} "
    + "# was us-east-1, where a Bucket exists",
  requires: ["resources"],
  on: ["UPDATE"],
  ofChange: true,
  *find({ inventory, name, settings, stored, state }): Iterable<Fault> {
    const after = defaultRegionOf(state, settings.region);
    if (stored === null || after === defaultRegionOf(stored, settings.region)) return;
    const before = defaultRegionOf(stored, settings.region);
    const affected = [...inventory.resources.inNamespace(name)].filter((resource) => (
      usesDefaultRegion(resource) && resource.status.region !== after
      && (before === null || resource.status.region === before)
    ));
    if (affected.length === 0) return;
    const effect = after === null
      ? "the namespace no longer sets a default region, which is the region"
      : `the default region becomes ${quote(after)}, which is not the region`;
    yield { path: PATH, message: listResources(affected, (count) => `${effect} of ${count}`) };
  },
};

/** Returns the region of resources that have no region annotation; null if no default region is set. */
function defaultRegionOf(state: NamespaceState, controllerRegion: string | null): string | null {
  const region = annotationOf(state, DEFAULT_REGION_ANNOTATION);
  return region === "" ? controllerRegion : region;
}

/** Whether the resource exists in AWS and has no region annotation. */
function usesDefaultRegion({ annotations, status }: ACKResource): boolean {
  return status.region !== null && (annotations.get(REGION_ANNOTATION) ?? "") === "";
}
