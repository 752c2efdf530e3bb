import { test } from "tap";
import { samples } from "../../bench/apiserver/metric-samples.ts";

test("adds the samples of a metric that have all labels", async (t) => {
  const text = [
    "# HELP requests Requests.", "requests 7",
    'requests{flow="a",level="low"} 1', 'requests{level="low",flow="a"} 2.5e1',
    'requests{flow="b",level="low"} 100', 'requests_total{flow="a",level="low"} 1000', "",
  ].join("\n");
  t.equal(samples(text, "requests", ['flow="a"', 'level="low"']), 26);
  t.equal(samples(text, "requests", ['flow="c"']), 0);
  t.equal(samples("up 1\ndown 0\n", "up", []), 1);
});
