import { grantIdentity } from "../shared/decisions/grants/by-identity.ts";
import { ROLE_IDENTITY } from "../shared/decisions/identities/kinds.ts";
import { controllerIdentity, identityInventory, roleIdentity } from "../test/shared/decisions/identities/objects.ts";
import { namespaceObject, SETTINGS_BY_DEFAULT } from "../test/shared/decisions/objects.ts";
import { IdentitySetup } from "../test/sidecar/identities/setup.ts";
import { HOUR, MINUTE, SECOND } from "../test/sidecar/fake-sts.ts";
import { randomFrom } from "./random.ts";
import type { Result } from "./result.ts";

/** Each cluster has its own role, and the roles share the sources. */
const CLUSTERS = 200;
const SOURCES = 5;
const SEED = 14;
/** The maximum number of STS calls per hour and session in hours 2 and 3. */
const TARGET_PER_HOUR = 2.2;

const INVENTORY = identityInventory([
  namespaceObject("team-a"), controllerIdentity(),
  ...Array.from({ length: SOURCES }, (_, i) => roleIdentity(`source-${i}`)),
  ...Array.from({ length: CLUSTERS }, (_, i) => roleIdentity(`cluster-${i}`, `role/source-${i % SOURCES}`)),
]);

interface Load {
  readonly requests: number;
  /** The number of distinct sessions in the cache. */
  readonly sessions: number;
  /** The number of STS calls in hours 2 and 3. */
  readonly calls: number;
  /** The number of STS calls per hour and distinct session, in hours 2 and 3. */
  readonly perHour: number;
}

/**
 * Runs the sessions of the clusters for 3 hours of a fake clock. Each cluster requests its credentials at each
 * interval. STS has 100 ms of latency.
 */
export async function simulateClusters(intervalMs: number): Promise<Load> {
  const setup = new IdentitySetup();
  setup.random = randomFrom(SEED);
  let requests = 0;
  for (let ms = 0; ms < 3 * HOUR; ms += intervalMs) {
    const pending = Array.from({ length: CLUSTERS }, (_, i) => request(setup, `cluster-${i}`));
    requests += pending.length;
    // oxlint-disable-next-line no-await-in-loop -- the clock advances step by step
    await setup.clock.advance(intervalMs);
    // oxlint-disable-next-line no-await-in-loop -- the clock advances step by step
    await Promise.all(pending);
  }
  const sessions = [...setup.cache.expirations()].length;
  const calls = setup.calls.filter(({ atMs }) => atMs >= HOUR).length;
  setup.cache.close();
  return { requests, sessions, calls, perHour: calls / 2 / sessions };
}

async function request({ sessions }: IdentitySetup, name: string): Promise<void> {
  const reference = { kind: ROLE_IDENTITY, name, namespace: "team-a" };
  const query = { scope: null, settings: SETTINGS_BY_DEFAULT, allowedAudiences: [] };
  const grant = grantIdentity(INVENTORY, reference, query);
  if (grant.verdict !== "identity") throw new Error(`the identity ${name} is not granted`);
  await sessions.get(grant);
}

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
