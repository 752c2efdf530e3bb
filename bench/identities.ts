import { MINUTE, SECOND } from "../test/sidecar/fake-sts.ts";
import { CLUSTERS, type Load, simulateClusters } from "../test/sidecar/identities/simulate-clusters.ts";
import type { Result } from "./result.ts";

/** The maximum number of STS calls per hour and session in hours 2 and 3. */
const TARGET_PER_HOUR = 2.2;

/** Counts the STS calls for role sessions of Cluster API clusters at two request rates. */
export async function run(): Promise<readonly Result[]> {
  const [few, many] = [await simulateClusters(10 * MINUTE), await simulateClusters(30 * SECOND)];
  const ratio = many.calls / few.calls;
  return [
    { name: nameOf(few), value: few.perHour, unit: "/h", target: TARGET_PER_HOUR },
    { name: nameOf(many), value: many.perHour, unit: "/h", target: TARGET_PER_HOUR },
    { name: "STS calls at the high rate / at the low rate", value: ratio, unit: "x", target: 1, bound: "at most" },
  ];
}

function nameOf({ sessions, requests }: Load): string {
  const load = `${CLUSTERS} clusters, ${sessions} sessions, ${requests} requests`;
  return `STS calls per hour and session in hours 2 and 3: ${load}`;
}
