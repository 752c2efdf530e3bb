import { test } from "tap";
import { labelGuesses } from "../../../shared/ack/label-guesses.ts";
import type { LabelNames } from "../../../shared/core/label-index.ts";
import type { LabelRequirementSpec } from "../../../shared/formats/label-selector.ts";
import { testRows } from "../rows.ts";

type Label = readonly [key: string, value: string];
type Selector = readonly [matchLabels: readonly Label[], matchExpressions?: readonly LabelRequirementSpec[]];

/** Labels with the key `env`, whose values are known if they start with `known`. Each other name is a misspelling. */
function namesWith(onSearch: () => void = () => {}): LabelNames {
  const count = (key: string, value: string): number => (key === "env" && value.startsWith("known") ? 1 : 0);
  return {
    count,
    nearest: (key, value) => {
      if (key === "env" && (value === null || count(key, value) > 0)) return { part: "value", names: [], isSure: true };
      onSearch();
      return { part: key === "env" ? "value" : "key", names: ["meant"], isSure: true };
    },
  };
}

const numbered = (name: string, length: number): string[] => Array.from({ length }, (_, i) => `${name}-${i}`);
const among = (...values: readonly string[]): LabelRequirementSpec => ({ key: "env", operator: "In", values });

testRows("searches a similar name for the first 20 keys and values of a selector",
  ([matchLabels, matchExpressions = []]: Selector) => {
    let searched = 0;
    const names = namesWith(() => {
      searched += 1;
    });
    const guesses = [...labelGuesses([[], { matchLabels, matchExpressions }], names)];
    return [`${searched} searched, ${guesses.length} guessed, the last ${guesses.at(-1)?.written}`];
  }, [
    ["3,000 values", [[], [among(...numbered("v", 3000))]], "20 searched, 20 guessed, the last v-19"],
    ["known values", [[], [among(...numbered("known", 30), "v-1")]], "1 searched, 1 guessed, the last v-1"],
    ["3,000 labels", [numbered("k", 3000).map((key): Label => [key, "v"])], "20 searched, 20 guessed, the last k-19"],
    ["3,000 expressions", [
      [], numbered("k", 3000).map((key) => ({ key, operator: "Exists", values: [] })),
    ], "20 searched, 20 guessed, the last k-19"],
    ["known labels and keys", [
      numbered("known", 30).map((value): Label => ["env", value]),
      [...numbered("x", 30).map(() => among("known")), among("v-1")],
    ], "1 searched, 1 guessed, the last v-1"],
    ["labels, expressions and values", [
      numbered("k", 9).map((key): Label => [key, "v"]),
      [...numbered("e", 9).map((key) => ({ key, operator: "Exists" as const, values: [] })), among("a", "b", "c")],
    ], "20 searched, 20 guessed, the last b"],
  ]);

test("a known key after 20 searched ones is not a guess", (t) => {
  const expressions = [among(...numbered("v", 20)), among("w")];
  const guesses = [...labelGuesses([[], { matchLabels: [], matchExpressions: expressions }], namesWith())];
  t.same(guesses.map(({ written }) => written), numbered("v", 20));
  t.end();
});
