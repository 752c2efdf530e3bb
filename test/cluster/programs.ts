import {
  type Assets, assetsIn, KUBERNETES, KUBERNETES_NODE, type NodeComponents, nodeComponentsIn,
} from "../programs/kubernetes.ts";
import { NODE_IMAGE_ARCHIVE, nodeImageIn } from "../programs/node-image.ts";
import { POD_PROGRAMS, type PodPrograms, podProgramsIn } from "../programs/pod-programs.ts";
import type { Folders } from "../real/find-programs.ts";

/** The programs of a cluster that runs Pods. */
export const CLUSTER_PROGRAMS = [KUBERNETES, KUBERNETES_NODE, POD_PROGRAMS, NODE_IMAGE_ARCHIVE] as const;

/** The absolute paths of what a node runs. */
export interface NodePrograms extends NodeComponents, PodPrograms {
  /** The OCI archive of NODE_IMAGE. */
  readonly nodeImage: string;
}

/** Returns the programs in the folders of CLUSTER_PROGRAMS. */
export function clusterProgramsIn(
  [kubernetes, components, inPods, image]: Folders<typeof CLUSTER_PROGRAMS>,
): { readonly assets: Assets; readonly programs: NodePrograms } {
  return {
    assets: assetsIn(kubernetes),
    programs: { ...nodeComponentsIn(components), ...podProgramsIn(inPods), nodeImage: nodeImageIn(image) },
  };
}
