import { test } from "tap";
import { StringPool } from "../../../shared/files/line-list.ts";

test("returns an equal string for every text", (t) => {
  const pool = new StringPool();
  const texts = [
    "", "a", "eu-west-1", "arn:aws:iam::111122223333:role/a", "é".repeat(256), "\u20ac".repeat(256), "x".repeat(300),
    "a long text with a lone surrogate \ud83d", `\ud83d${"x".repeat(300)}`, "an emoji at its end \u{1f389}",
  ];
  for (const text of [...texts, ...texts]) t.equal(pool.get(text), text, JSON.stringify(text.slice(0, 20)));
  t.end();
});

test("returns equal strings after the pool was full", (t) => {
  const pool = new StringPool();
  const texts = Array.from({ length: 40_000 }, (_, i) => `the text number ${i}`);
  t.ok([...texts, ...texts].every((text) => pool.get(text) === text));
  t.end();
});
