import { isACKGroup } from "../../shared/decisions/ack-resource.ts";
import { compareText } from "../../shared/decisions/finding.ts";
import { objectMeta } from "../../shared/decisions/object-meta.ts";
import type { ManifestSource } from "../../shared/inventory/manifest-source.ts";

type Input = Pick<ManifestSource, "manifests" | "inventory">;

/** One of ACK's, where selectors alone are there that hold for every group. */
const ANY_GROUP = "s3.services.k8s.aws";

/** The groups that the sidecar of local mode grants for: those that the input names, or one where it names none. Sorted. */
export function servedGroups(input: Input): readonly string[] {
  const named = namedGroups(input);
  return named.length === 0 ? [ANY_GROUP] : named;
}

/** The ACK groups of resources and selectors, sorted. */
export function namedGroups({ manifests, inventory }: Input): readonly string[] {
  const groups = new Set(manifests.map(({ object }) => objectMeta(object).group).filter(isACKGroup));
  for (const { types } of inventory.selectors.values()) for (const { group } of types ?? []) if (isACKGroup(group)) groups.add(group);
  return [...groups].toSorted(compareText);
}
