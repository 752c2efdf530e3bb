import { test } from "tap";
import { atLeast, atMost, formatSummary, median, quantile, summarize } from "../../bench/figure.ts";

const FIGURE = { name: "requests", unit: "/s", ours: [80, 40, 60], floor: [100, 100, 60] } as const;

test("compares each round with the floor of the same round", async (t) => {
  t.match(summarize(FIGURE), {
    rounds: 3, ours: { median: 60, min: 40, max: 80 }, floor: { median: 100 }, ratio: { median: 0.8, min: 0.4, max: 1 },
    goal: null, actual: null, isMissed: false,
  });
});

test("a goal bounds the value, the ratio or the difference", async (t) => {
  const actualOf = (goal: ReturnType<typeof atMost>): unknown => {
    const { actual, isMissed } = summarize({ ...FIGURE, goal });
    return { actual, isMissed };
  };
  t.strictSame(actualOf(atLeast(60, "value")), { actual: 60, isMissed: false });
  t.strictSame(actualOf(atLeast(0.9, "ratio")), { actual: 0.8, isMissed: true });
  t.strictSame(actualOf(atMost(0, "difference")), { actual: -20, isMissed: false });
  t.strictSame(actualOf(atMost(-30, "difference")), { actual: -20, isMissed: true });
});

test("misses a goal that compares with a missing floor, or that no round measured", async (t) => {
  t.equal(summarize({ name: "p99", unit: "ms", ours: [1], goal: atMost(2, "ratio") }).isMissed, true);
  t.equal(summarize({ name: "p99", unit: "ms", ours: [], goal: atMost(2, "value") }).isMissed, true);
});

test("prints the value, the floor, the ratio and the missed goal", async (t) => {
  const line = formatSummary(summarize({ ...FIGURE, goal: atLeast(0.9, "ratio") }));
  t.equal(
    line.replaceAll(/ +/g, " ").trim(),
    "60 /s floor 100 /s 0.8 x (0.4 to 1) requests: goal at least 0.9 x the floor, MISSED with 0.8",
  );
  const single = formatSummary(summarize({ name: "start", unit: "ms", ours: [1_234] }));
  t.match(single, /1,234 ms +\(1,234 to 1,234\) +start$/);
});

test("the median of an even number of values is the mean of the middle ones", async (t) => {
  t.equal(median([4, 1, 3, 2]), 2.5);
  t.equal(median([3, 1, 2]), 2);
  t.equal(quantile([1, 2, 3, 4], 0.5), 3);
  t.equal(quantile([1, 2, 3, 4], 1), 4);
});
