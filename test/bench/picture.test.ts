import { test } from "tap";
import { atLeast, atMost, summarize } from "../../bench/figure.ts";
import { newestResults, picture, shareOf } from "../../bench/picture.ts";
import { profileLines } from "../../bench/profile.ts";

const SLOW = summarize({ name: "requests", unit: "/s", ours: [40], floor: [100], goal: atLeast(0.8, "ratio") });
const FAST = summarize({ name: "p99 < 2", unit: "ms", ours: [1], goal: atMost(2, "value") });

test("the share of a goal is below 1 exactly if the goal is missed", async (t) => {
  t.equal(shareOf(SLOW), 0.5);
  t.equal(shareOf(FAST), 2);
  t.ok(shareOf(summarize({ name: "n", unit: "requests", ours: [0], goal: atMost(0, "value") })) > 1);
});

test("draws a bar for each figure with a goal, and escapes its name", async (t) => {
  const row = {
    title: "", seconds: 1, loadBefore: 0, loadAfter: 0, otherCores: 0, isDisturbed: false, profile: [], error: null,
  };
  const svg = picture({
    date: "2026-08-01T12:00:00Z", commit: "abc", isChanged: false, versions: { node: "26.0.0" },
    machine: { processor: "Fast & small", cores: 2, memoryGB: 8, kernel: "6" },
    rows: [
      { ...row, name: "first", figures: [SLOW, summarize({ name: "unbound", unit: "ms", ours: [1] })] },
      { ...row, name: "second", figures: Array.from({ length: 7 }, () => FAST) },
      { ...row, name: "third", isDisturbed: true, figures: [FAST, SLOW] },
      { ...row, name: "fourth", figures: [], error: "the API server is not built" },
    ],
  });
  t.equal(svg.match(/<rect .*fill="#cf222e"/g)?.length, 1);
  t.equal(svg.match(/fill="#2da44e"/g)?.length, 1, "the worst of many figures");
  t.equal(svg.match(/<rect .*fill="#6e7781"/g)?.length, 2, "figures of a disturbed row");
  t.match(svg, "second: p99 &lt; 2");
  t.match(svg, "Fast &amp; small");
  t.notMatch(svg, "unbound");
  t.match(svg, />fourth<.*\n.*>could not be measured</);
});

test("draws the last run, also if its commit sorts before that of another run on the same day", async (t) => {
  const results = (hour: number, commit: string): string =>
    JSON.stringify({ date: `2026-08-01T${hour}:00:00Z`, commit });
  const folder = t.testdir({
    "2026-08-01-fff.json": results(11, "fff"), "2026-08-01-aaa.json": results(12, "aaa"), "latest.svg": "",
  });
  t.equal(newestResults(folder).commit, "aaa");
  t.throws(() => newestResults(t.testdir({})), /has no results/);
});

test("a profile has the self time of each function, without the idle time", async (t) => {
  const frame = (id: number, functionName: string, url = ""): object => ({ id, callFrame: { functionName, url } });
  const file = new URL("../../webhook/route.ts", import.meta.url).href;
  const nodes = [frame(1, "(idle)"), frame(2, "handle", file), frame(3, "writev"), frame(4, "handle", file)];
  const profiled = { nodes, samples: [1, 2, 3, 4, 9], timeDeltas: [500, 10, 40, 50, 7] };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only the fields that the summary reads
  t.strictSame(profileLines(profiled as Parameters<typeof profileLines>[0]), [
    { share: 0.6, place: "handle webhook/route.ts" }, { share: 0.4, place: "writev" },
  ]);
});
