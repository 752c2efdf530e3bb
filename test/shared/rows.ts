import { test } from "tap";

/** What is wrong or allowed, the input, and the whole line of each result. A pattern stands for a part of a line. */
export type Row<Input> = readonly [what: string, input: Input, ...expected: readonly (string | RegExp)[]];

/** Defines a test that compares the lines of each row. */
export function testRows<Input>(
  title: string, linesOf: (input: Input) => readonly string[], rows: readonly Row<Input>[],
): void {
  test(title, (t) => {
    for (const [what, input, ...expected] of rows) {
      const lines = linesOf(input);
      if (expected.every((line) => typeof line === "string")) t.same(lines, expected, what);
      else {
        t.equal(lines.length, expected.length, `${what}: ${lines.join("\n")}`);
        for (const [i, line] of expected.entries())
          t.ok(typeof line === "string" ? lines[i] === line : line.test(lines[i] ?? ""), `${what}: ${lines[i]}`);
      }
    }
    t.end();
  });
}
