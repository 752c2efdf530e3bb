import type { Test } from "tap";
import { field, stringAt } from "../../../shared/formats/json.ts";
import type { ApiResponse } from "../apiserver/api-request.ts";
import type { Cluster } from "../apiserver/cluster.ts";
import { patch } from "./buckets.ts";
import { SELECTORS } from "./installed-webhook.ts";
import { pairSelector } from "./selector-pairs.ts";

/** The maximum number of requests that are sent at the same time. */
const AT_ONCE = 20;

/** Two or more requests for one pair, which together would make selectors overlap. */
export interface Race {
  /** Creates what the requests need. */
  readonly prepare?: (pair: string) => Promise<readonly ApiResponse[]>;
  readonly requests: (pair: string) => readonly (() => Promise<ApiResponse>)[];
  /** Whether no selector of the pair may be stored. */
  readonly mayBeFree?: boolean;
}

export function races(cluster: Cluster): Readonly<Record<string, Race>> {
  return { ...racesOfPairs(cluster), ...racesOfMore(cluster) };
}

async function create(
  cluster: Cluster, name: string, pair: string, annotations: Readonly<Record<string, string>> = {},
): Promise<ApiResponse> {
  return await cluster.request("POST", SELECTORS, { ...pairSelector(name, pair), metadata: { name, annotations } });
}

/** Changes the pair of a selector. */
async function move(cluster: Cluster, name: string, pair: string): Promise<ApiResponse> {
  const spec = { resourceLabelSelector: { matchLabels: { pair } } };
  return await patch(cluster, `${SELECTORS}/${name}`, { spec });
}

/** Returns the races of two requests of the same kind, and of a creation and an update. */
function racesOfPairs(cluster: Cluster): Readonly<Record<string, Race>> {
  const ofBoth = (send: (name: string, pair: string) => Promise<ApiResponse>): Race["requests"] => (
    (pair) => ["a", "b"].map((one) => () => send(`${one}-${pair}`, pair))
  );
  const apart = async (one: string, pair: string): Promise<ApiResponse> => (
    await create(cluster, `${one}-${pair}`, `away-${one}-${pair}`)
  );
  return {
    "two creations": { requests: ofBoth((name, pair) => create(cluster, name, pair)) },
    "a creation and an update": {
      prepare: async (pair) => [await apart("a", pair)],
      requests: (pair) => [
        () => move(cluster, `a-${pair}`, pair), () => create(cluster, `b-${pair}`, pair),
      ],
    },
    "two updates": {
      prepare: (pair) => Promise.all([apart("a", pair), apart("b", pair)]),
      requests: ofBoth((name, pair) => move(cluster, name, pair)),
    },
    "two replacements of one selector": {
      prepare: async (pair) => [await create(cluster, `old-${pair}`, pair)],
      requests: ofBoth((name, pair) => (
        create(cluster, name, pair, { "ack-role-resolver.io/replaces": `old-${pair}` })
      )),
    },
    "two server-side applies": {
      requests: ofBoth((name, pair) => (
        cluster.request("PATCH", `${SELECTORS}/${name}?fieldManager=test`, pairSelector(name, pair), {
          headers: { "content-type": "application/apply-patch+yaml" },
        })
      )),
    },
    "two creations with generated names": {
      requests: ofBoth((_name, pair) => (
        cluster.request("POST", SELECTORS, { ...pairSelector("any", pair), metadata: { generateName: "any-" } })
      )),
    },
  };
}

function racesOfMore(cluster: Cluster): Readonly<Record<string, Race>> {
  return {
    "two creations after a deletion": {
      prepare: async (pair) => {
        const waiver = { "ack-role-resolver.io/allow": "IRS-30" };
        const created = await create(cluster, `old-${pair}`, pair, waiver);
        return [created, await cluster.request("DELETE", `${SELECTORS}/old-${pair}`)];
      },
      requests: (pair) => [
        () => create(cluster, `old-${pair}`, pair), () => create(cluster, `b-${pair}`, pair),
      ],
    },
    "eight creations": {
      requests: (pair) => Array.from({ length: 8 }, (_, i) => () => create(cluster, `s${i}-${pair}`, pair)),
    },
    "two versions of a new selector, and another selector": {
      // The version that is not stored is pending for 34 s.
      mayBeFree: true,
      requests: (pair) => [
        () => create(cluster, `a-${pair}`, pair), () => create(cluster, `a-${pair}`, `away-${pair}`),
        () => create(cluster, `b-${pair}`, pair),
      ],
    },
  };
}

/**
 * Runs a race for each pair. Verifies that at most one selector of each pair is stored, and that the requests of most
 * pairs do not deny each other.
 */
export async function runRace(t: Test, cluster: Cluster, race: Race, pairs: number): Promise<void> {
  const { prepare, requests, mayBeFree = false } = race;
  const all = Array.from({ length: pairs }, (_, i) => String(i));
  const denials: string[] = [];
  const size = Math.floor(AT_ONCE / requests("").length);
  for (let start = 0; start < all.length; start += size) {
    const group = all.slice(start, start + size);
    const prepared = (await Promise.all(group.map(async (pair) => await prepare?.(pair) ?? []))).flat();
    const failed = prepared.filter(({ status }) => status >= 400).map(({ body }) => stringAt(body, "message"));
    t.same(failed, []);
    const answers = await Promise.all(group.flatMap((pair) => requests(pair).map((send) => send())));
    const denied = answers.filter(({ status }) => status >= 400);
    denials.push(...denied.map(({ body }) => stringAt(body, "message") ?? ""));
  }
  const counts = await selectorsPerPair(cluster);
  const overlapping = all.filter((pair) => (counts.get(pair) ?? 0) > 1);
  t.same(overlapping, [], `${overlapping.length} of ${pairs} pairs overlap`);
  const free = mayBeFree ? [] : all.filter((pair) => (counts.get(pair) ?? 0) === 0);
  t.same(free, [], `${free.length} of ${pairs} pairs have no selector`);
  const unclear = denials.filter((message) => !/ack-role-resolver.*(again in|IRS-17)|already exists/s.test(message));
  t.same(unclear, [], "each denial states how to continue");
  await deleteAll(t, cluster);
}

/** Returns the number of stored selectors that select the bucket of a pair and replace no other selector. */
async function selectorsPerPair(cluster: Cluster): Promise<ReadonlyMap<string, number>> {
  const { body } = await cluster.request("GET", SELECTORS);
  const counts = new Map<string, number>();
  for (const selector of itemsOf(body)) {
    const name = stringAt(selector, "metadata", "name") ?? "";
    const pair = stringAt(selector, "spec", "resourceLabelSelector", "matchLabels", "pair") ?? "";
    if (name !== `old-${pair}` || !itemsOf(body).some((one) => replacesOld(one, pair))) {
      counts.set(pair, (counts.get(pair) ?? 0) + 1);
    }
  }
  return counts;
}

function replacesOld(selector: unknown, pair: string): boolean {
  return stringAt(selector, "metadata", "annotations", "ack-role-resolver.io/replaces") === `old-${pair}`;
}

function itemsOf(list: unknown): readonly unknown[] {
  const items = field(list, "items");
  return Array.isArray(items) ? items : [];
}

/** Deletes the selectors of the pairs. */
async function deleteAll(t: Test, cluster: Cluster): Promise<void> {
  const { body } = await cluster.request("GET", SELECTORS);
  const names = itemsOf(body).map((one) => stringAt(one, "metadata", "name") ?? "").filter((name) => name !== "last");
  const waived = { metadata: { annotations: { "ack-role-resolver.io/allow": "IRS-30" } } };
  for (let start = 0; start < names.length; start += AT_ONCE) {
    const answers = await Promise.all(names.slice(start, start + AT_ONCE).map(async (name) => {
      await patch(cluster, `${SELECTORS}/${name}`, waived);
      return await cluster.request("DELETE", `${SELECTORS}/${name}`);
    }));
    t.same(answers.filter(({ status }) => status !== 200).map(({ body: answer }) => stringAt(answer, "message")), []);
  }
}
