import { MINUTE, SECOND } from "../../test/sidecar/fake-sts.ts";
import { CLUSTERS, type Load, simulateClusters } from "../../test/sidecar/capa/simulate-clusters.ts";
import { atMost, type Figure, single } from "../figure.ts";
import type { Row } from "../row.ts";

/** The maximum number of STS calls per hour and session in hours 2 and 3. */
const GOAL_PER_HOUR = 2.2;

/** Counts the STS calls for role sessions of Cluster API clusters at two request rates. */
export const IDENTITIES_ROW: Row = {
  name: "identity-sts-calls",
  title: "STS calls per hour and session of Cluster API identities in hours 2 and 3, simulated",
  measure: async () => {
    const [few, many] = [await simulateClusters(10 * MINUTE), await simulateClusters(30 * SECOND)];
    const ratio = single("calls at the high rate / at the low rate", many.calls / few.calls, "x", atMost(1, "value"));
    return [...[few, many].map(figureOf), ratio];
  },
};

function figureOf({ sessions, requests, perHour }: Load): Figure {
  const name = `${CLUSTERS} clusters, ${sessions} sessions, ${requests} requests`;
  return single(name, perHour, "/h", atMost(GOAL_PER_HOUR, "value"));
}
