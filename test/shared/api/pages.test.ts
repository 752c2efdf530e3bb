import { RESOURCES } from "../../../shared/ack/resources.ts";
import { test } from "tap";
import { BodyTooLarge, type Page, readPages } from "../../../shared/api/api.ts";
import { BUCKETS, definition, fakeCluster } from "./fake-cluster.ts";

const MIB = 1024 * 1024;

interface Result {
  readonly queries: string[];
  /** The number of objects that were read. */
  objects: number;
  error: unknown;
}

/** Reads a list of 20 objects that have this size, in pages of at most 500 objects. */
async function read(objectBytes: number): Promise<Result> {
  const result: Result = { queries: [], objects: 0, error: null };
  try {
    for await (const { size } of readPages(500, async ({ query, maxBytes }): Promise<Page & { size: number }> => {
      result.queries.push(query);
      const search = new URLSearchParams(query);
      const from = Number(search.get("continue") ?? 0);
      const to = Math.min(20, from + Number(search.get("limit")));
      if ((to - from) * objectBytes > maxBytes) throw new BodyTooLarge("too large");
      return { size: to - from, continuation: to === 20 ? "" : String(to) };
    })) {
      result.objects += size;
    }
  } catch (error) {
    result.error = error;
  }
  return result;
}

test("requests a page that is too large again with fewer objects, and no object twice", async (t) => {
  t.same(await read(1_000), { queries: ["limit=500"], objects: 20, error: null });
  t.same(await read(MIB), {
    queries: ["limit=500", "limit=63", "limit=8", "limit=8&continue=8", "limit=8&continue=16"],
    objects: 20, error: null,
  });
  const { queries, objects } = await read(9 * MIB);
  t.same([queries.length, queries.at(-1), objects], [3 + 20, "limit=1&continue=19", 20]);
});

test("rejects if one object is larger than 16 MiB", async (t) => {
  t.match(await read(17 * MIB), {
    queries: ["limit=500", "limit=63", "limit=8", "limit=1"], objects: 0,
    error: new BodyTooLarge("an object has more than 16777216 bytes"),
  });
});

test("lists objects of a kind whose first page would have 20 MB", async (t) => {
  const { cluster, source } = await fakeCluster(t, [definition("s3.services.k8s.aws", "Bucket")]);
  const large = (i: number): object => ({
    metadata: { name: `b-${i}`, namespace: "team-a", resourceVersion: "1", annotations: { a: "x".repeat(1_000_000) } },
  });
  cluster.objects.set(BUCKETS, Array.from({ length: 20 }, (_, i) => large(i)));
  await source.start();
  t.equal(source.inventory.of(RESOURCES).size, 20);
  const limits = cluster.lists.filter((list) => list.startsWith(BUCKETS)).map((list) => /limit=(\d+)/.exec(list)?.[1]);
  t.same(limits, ["500", "63", "8", "8", "8"]);
});
