import { test } from "tap";
import { LargeBodies, type LargeBody } from "../../../webhook/body/large-bodies.ts";

interface Subject {
  /** Adds a body, whose name is `ADDRESS/REQUESTER`, and returns it. */
  readonly add: (name: string, bytes: number) => LargeBody;
  readonly bodies: LargeBodies;
  /** The names of the discarded bodies, with a number if a client sent several. */
  readonly discarded: string[];
  readonly count: () => number;
}

function subjectOf(maxBytes: number): Subject {
  let count = 0;
  const discarded: string[] = [];
  const bodies = new LargeBodies(maxBytes, () => void count++);
  const add = (name: string, bytes: number): LargeBody => {
    const [address = "", requester = ""] = name.split("/");
    const body = { address, requester, bytes, discard: () => void discarded.push(`${name} ${bytes}`) };
    bodies.add(body);
    return body;
  };
  return { add, bodies, discarded, count: () => count };
}

test("discards the oldest body of the requester with the largest bodies", (t) => {
  const { add, discarded, count } = subjectOf(10);
  add("api/bob", 2);
  add("api/eve", 4);
  add("api/eve", 3);
  add("api/amy", 2);
  t.same(discarded, ["api/eve 4"]);
  add("api/eve", 6);
  t.same(discarded, ["api/eve 4", "api/eve 3"]);
  t.equal(count(), 2);
  t.end();
});

test("discards the bodies of the client with the largest bodies, whichever requesters it names", (t) => {
  const { add, discarded } = subjectOf(10);
  add("api/bob", 4);
  for (const requester of ["a", "b", "c", "d"]) add(`pod/${requester}`, 3);
  t.same(discarded, ["pod/a 3", "pod/b 3"]);
  t.end();
});

test("never discards a complete body, but the size of its requester counts", (t) => {
  const { add, bodies, discarded } = subjectOf(10);
  const complete = add("api/eve", 7);
  bodies.complete(complete);
  add("api/bob", 2);
  add("api/eve", 3);
  t.same(discarded, ["api/eve 3"]);
  add("api/bob", 4);
  t.same(discarded, ["api/eve 3", "api/bob 2", "api/bob 4"]);
  bodies.remove(complete);
  bodies.remove(complete);
  discarded.length = 0;
  add("api/amy", 6);
  t.same(discarded, [], "the size is freed only once");
  t.end();
});
