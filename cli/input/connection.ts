import type { openKubeconfig } from "../../shared/api/kubeconfig.ts";
import type { IO } from "../io.ts";

type Opened = ReturnType<typeof openKubeconfig>;

const OPENED = new WeakMap<IO, Opened>();

/**
 * Returns the client of the cluster that the settings of a command choose. A command has one, because a kubeconfig can
 * start a program that gets a token. Imports the Kubernetes client on demand: manifests do not need it.
 */
export function openCluster(choice: Parameters<typeof openKubeconfig>[0], io: IO): Opened {
  const opened = OPENED.get(io) ?? open(choice);
  OPENED.set(io, opened);
  return opened;
}

async function open(choice: Parameters<typeof openKubeconfig>[0]): Opened {
  const { openKubeconfig: openFirst } = await import("../../shared/api/kubeconfig.ts");
  return await openFirst(choice);
}
