import { randomFrom } from "../../../bench/random.ts";
import { grantIdentity } from "../../../shared/capa/grant-by-identity.ts";
import { ROLE_IDENTITY } from "../../../shared/core/capa-kinds.ts";
import { controllerIdentity, roleIdentity } from "../../shared/capa-objects.ts";
import { inventoryWith, namespaceObject, SETTINGS_BY_DEFAULT } from "../../shared/objects.ts";
import { HOUR } from "../fake-sts.ts";
import { IdentitySetup } from "./setup.ts";

/** Each cluster has its own role, and the roles share the sources. */
export const CLUSTERS = 200;
const SOURCES = 5;
const SEED = 14;

const INVENTORY = inventoryWith([
  namespaceObject("team-a"), controllerIdentity(),
  ...Array.from({ length: SOURCES }, (_, i) => roleIdentity(`source-${i}`)),
  ...Array.from({ length: CLUSTERS }, (_, i) => roleIdentity(`cluster-${i}`, `role/source-${i % SOURCES}`)),
]);

export interface Load {
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
    await setup.clock.advance(intervalMs);
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
