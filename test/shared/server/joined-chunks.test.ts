import { test } from "tap";
import { JoinedChunks } from "../../../shared/server/joined-chunks.ts";
import { collectGarbage } from "../../collect-garbage.ts";

test("joins chunks of each size in their order, and does not change them", (t) => {
  for (const sizes of [[], [0], [3], [0, 3], [3, 0, 1], [1, 1, 1, 1, 1, 1, 1], [4, 1, 1, 9, 2], [40, 1, 1]]) {
    const joined = new JoinedChunks(16);
    let next = 0;
    const chunks = sizes.map((size) => Buffer.from(Array.from({ length: size }, () => next++)));
    for (const chunk of chunks) joined.add(chunk);
    t.same([...joined.bytes], Array.from({ length: next }, (_, i) => i), sizes.join());
    t.equal(Buffer.concat(chunks).equals(joined.bytes), true);
  }
  t.end();
});

test("cuts the bytes to a length, and copies them", (t) => {
  const joined = new JoinedChunks(16);
  const chunk = Buffer.from("abcdef");
  joined.add(chunk);
  joined.cut(4);
  chunk.fill("x");
  t.equal(joined.bytes.toString(), "abcd");
  joined.cut(10);
  t.equal(joined.bytes.toString(), "abcd");
  t.end();
});

test("needs little memory for chunks of one byte, whose Buffers would take 100 times as much", async (t) => {
  const joined = new JoinedChunks(1024 * 1024);
  await collectGarbage();
  const { heapUsed: before } = process.memoryUsage();
  for (let i = 0; i < 200_000; i++) joined.add(Buffer.from("x"));
  await collectGarbage();
  const used = process.memoryUsage().heapUsed - before;
  t.ok(used < 4 * 1024 * 1024, `${used} bytes`);
  t.equal(joined.bytes.length, 200_000);
});
