import { DEFAULT_REGION_ANNOTATION, REGION_ANNOTATION } from "../../annotation-keys.ts";
import type { ACKResource } from "../../kubernetes/ack-resource.ts";
import { isRegion, partitionOfRegion } from "../../kubernetes/arn.ts";
import { annotationPath } from "../../kubernetes/field-path.ts";
import { quote } from "../../kubernetes/text.ts";
import type { Fault, QuickCheck } from "../check.ts";
import { tellOf } from "../message-lists.ts";
import { annotated, type NamespaceChange, type NamespaceState } from "./change.ts";

const PATH = annotationPath(DEFAULT_REGION_ANNOTATION);

export const NS_07: QuickCheck<NamespaceChange> = {
  id: "NS-07",
  severity: "deny",
  waivable: false,
  reason: "Controllers take any text for a region, and every call for the namespace's resources then fails.",
  fix: "write a region of the controllers' partition, such as eu-west-1",
  example: "metadata: {annotations: {services.k8s.aws/default-region: Frankfurt}}",
  *find({ settings, state }): Iterable<Fault> {
    const region = annotated(state, DEFAULT_REGION_ANNOTATION);
    if (region === "") return;
    if (!isRegion(region)) {
      yield { path: PATH, message: `${quote(region)} is not a region` };
    } else if (settings.region !== null && partitionOfRegion(region) !== partitionOfRegion(settings.region)) {
      yield { path: PATH, message: `${region} is in partition ${partitionOfRegion(region)}, and the controllers are in ${partitionOfRegion(settings.region)}` };
    }
  },
};

export const NS_07B: QuickCheck<NamespaceChange> = {
  id: "NS-07b",
  severity: "warn",
  waivable: false,
  reason: "A resource stays in the region that it was made in: where another one is wanted, controllers stop at it for ever, without a condition.",
  fix: "keep the default, or annotate these resources with services.k8s.aws/region first",
  example: "metadata: {annotations: {services.k8s.aws/default-region: eu-west-1}} # was us-east-1, where a Bucket is",
  requires: ["resources"],
  on: ["UPDATE"],
  ofChange: true,
  *find({ inventory, name, settings, stored, state }): Iterable<Fault> {
    const wanted = defaultOf(state, settings.region);
    if (stored === null || wanted === defaultOf(stored, settings.region)) return;
    const before = defaultOf(stored, settings.region);
    const drifting = [...inventory.resources.inNamespace(name)].filter((resource) => takesDefault(resource) && resource.status.region !== wanted);
    const newly = drifting.filter(({ status }) => before === null || status.region === before);
    if (newly.length === 0) return;
    const change = wanted === null ? "the namespace has no default region any more, which is that" : `the default region becomes ${quote(wanted)}, other than that`;
    yield { path: PATH, message: tellOf(newly, (count) => `${change} of ${count}`) };
  },
};

/** The region of what says none itself; null where only the controllers know theirs. */
function defaultOf(state: NamespaceState, ofControllers: string | null): string | null {
  const region = annotated(state, DEFAULT_REGION_ANNOTATION);
  return region === "" ? ofControllers : region;
}

/** Whether it exists, and says nothing of a region itself. */
function takesDefault({ annotations, status }: ACKResource): boolean {
  return status.region !== null && (annotations.get(REGION_ANNOTATION) ?? "") === "";
}
