import { quote } from "../../kubernetes/text.ts";
import type { ReservedUse } from "../../pods/reserved.ts";
import { SIDECAR_NAME } from "../../pods/sidecar.ts";
import type { Fault, QuickCheck } from "../check.ts";
import type { PodCreation } from "./change.ts";

export const POD_11: QuickCheck<PodCreation> = {
  id: "POD-11",
  severity: "deny",
  waivable: false,
  reason: "The webhook reserves the names of the container and the volumes that it adds. If it reused what a user "
    + "wrote under such a name, the sidecar could run another image, or its token could be on the disk of the node.",
  fix: "choose another name, and let the webhook add its own container and volumes",
  example: `spec: {initContainers: [{name: ${SIDECAR_NAME}, image: other}]}`,
  *find({ reserved }): Iterable<Fault> {
    for (const { path, ...use } of reserved) yield { path, ...textOf(use) };
  },
};

function textOf({ name, found, field }: Omit<ReservedUse, "path">): Pick<Fault, "message" | "fix"> {
  if (found === "mount") {
    const message = `the volume ${quote(name)} is reserved: only the mounts that the webhook adds may use it`;
    return { message, fix: "remove the mount, or mount a volume with another name" };
  }
  if (found === "volume") {
    const message = `the volume ${quote(name)} has a reserved name, and is not the volume that the webhook adds`;
    return { message, fix: "rename the volume" };
  }
  const difference = field === "" ? "" : `: ${quote(field)} differs`;
  const message = `the container ${quote(name)} has a reserved name, and is not what the webhook adds${difference}`;
  return { message, fix: "rename or remove the container, and let the webhook add the sidecar" };
}
