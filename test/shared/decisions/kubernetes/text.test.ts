import { test } from "tap";
import { closest } from "../../../../shared/decisions/kubernetes/text.ts";

test("finds the closest candidate if at most a third of the text, or one letter, differs", (t) => {
  const rows: readonly (readonly [text: string, candidates: readonly string[], meant: string | null])[] = [
    ["arm", ["arn", "names"], "arn"],
    ["name", ["names", "arn"], "names"],
    ["ARN", ["arn"], "arn"],
    ["regoin", ["region"], "region"],
    ["ab", ["xy"], null],
    ["a", ["b"], "b"],
    ["abcdef", ["abcdxy"], "abcdxy"],
    ["abcdef", ["abcxyz"], null],
    ["names", ["name", "named", "names"], "names"],
    ["x", [], null],
    ["", ["a"], "a"],
    ["", ["ab"], null],
    ["matchLabel", ["matchExpressions", "matchLabels"], "matchLabels"],
  ];
  for (const [text, candidates, meant] of rows)
    t.equal(closest(text, candidates), meant, `${text} of ${candidates.join(", ")}`);
  t.end();
});

test("rejects a very long text without computing a distance", (t) => {
  t.equal(closest("x".repeat(50_000_000), ["arn"]), null);
  t.end();
});
