import {
  type Assets, assetsIn, KUBERNETES, KUBERNETES_NODE, type NodeComponents, nodeComponentsIn,
} from "../programs/kubernetes.ts";
import { NODE_IMAGE_ARCHIVE, nodeImageIn } from "../programs/node-image.ts";
import { PAUSE, pauseIn } from "../programs/pause.ts";
import type { Folders } from "../real/find-programs.ts";

/** The programs of a cluster that runs Pods. */
export const CLUSTER_PROGRAMS = [KUBERNETES, KUBERNETES_NODE, PAUSE, NODE_IMAGE_ARCHIVE] as const;

/** The absolute paths of what a node runs. */
export interface NodePrograms extends NodeComponents {
  readonly pause: string;
  /** The OCI archive of NODE_IMAGE. */
  readonly nodeImage: string;
}

/** Returns the programs in the folders of CLUSTER_PROGRAMS. */
export function clusterProgramsIn(
  [kubernetes, components, pause, image]: Folders<typeof CLUSTER_PROGRAMS>,
): { readonly assets: Assets; readonly programs: NodePrograms } {
  return {
    assets: assetsIn(kubernetes),
    programs: { ...nodeComponentsIn(components), pause: pauseIn(pause), nodeImage: nodeImageIn(image) },
  };
}
