import { OTHER_CARM_MAPS } from "../../shared/carm/map-store.ts";
import { NAMESPACE_OWNERS } from "../../shared/carm/namespace-owners.ts";
import { addReader } from "../command-context.ts";
import type { Feature } from "../feature.ts";

const MIGRATE = "generate IAMRoleSelectors from the CARM maps and prove that no role changes";

/** The legacy ConfigMaps of CARM, and the way to IAMRoleSelectors. */
export const CARM: Feature = {
  commands: {
    "migrate carm": (program, context) => {
      const migrate = program.command("migrate").description("migrate to IAMRoleSelectors").helpCommand(false);
      addReader(migrate, context, ["migrate carm", MIGRATE], async () => (
        (await import("./migrate-carm.ts")).runMigrateCARM
      ));
    },
  },
  examples: { "migrate carm": ["ack-role-resolver migrate carm --cluster > selectors.yaml"] },
  unread({ inventory, origin }) {
    if (origin !== "cluster" || inventory.includes(OTHER_CARM_MAPS)) return [];
    return [{ code: "CM-07", needs: "the right to list the CARM maps by name in all namespaces" }];
  },
  examplePath(inventory, { mode }) {
    if (mode !== "carm") return null;
    const [name] = [...inventory.of(NAMESPACE_OWNERS).names].toSorted();
    return { path: name === undefined ? null : `namespaces/${name}`, pattern: "namespaces/NAMESPACE" };
  },
};
