import { readFile } from "node:fs/promises";
import { test } from "tap";
import { chartValueLines } from "../../docs/chart-values.ts";
import { valuesSchema } from "../../manifests/values-schema.ts";
import { field } from "../../shared/formats/json.ts";

const record = (properties: object): object => ({ type: "object", properties, additionalProperties: false });
const ports = { type: "integer", minimum: 1, maximum: 9 };

test("a row has the type, the default and the comment of a value, and a map of values has rows of its own", (t) => {
  const values = [
    "# About the file.", "", "# The first one (docs/webhook.md#certificates).", "mode: a", "free: {}", "# A group.",
    "group:", "  # Either a | b:", "  #   {count: 2}", "  count: 1", "  labels: {x: y}", "  # Nothing.", "  gone: null",
  ].join("\n");
  const schema = record({
    mode: { enum: ["", "a", "b"] }, free: { type: "object" },
    group: record({
      count: { ...ports, type: ["integer", "string", "null"] }, gone: { type: ["boolean", "null"] },
      labels: { ...record({ reserved: false }), patternProperties: { a: {} } },
    }),
  });
  t.same(chartValueLines(values, schema).slice(2), [
    "| `mode` | `a`, `b` | `a` | The first one ([webhook.md](webhook.md#certificates)). |",
    "| `free` | map | `{}` |  |",
    "| `group` |  |  | A group. |",
    "| `group.count` | integer or percentage from 1 to 9 | `1` | Either a \\| b: `{count: 2}` |",
    '| `group.labels` | map | `{"x":"y"}` |  |',
    "| `group.gone` | boolean |  | Nothing. |",
  ]);
  t.end();
});

test("the reference has a row for each value of the schema, and each row says what the value does", async (t) => {
  const text = await readFile(new URL("../../manifests/chart/values.yaml", import.meta.url), "utf8");
  const rows = chartValueLines(text, valuesSchema()).slice(2)
    .map((line) => line.split(/(?<!\\)\|/).map((one) => one.trim()));
  t.same(rows.filter((row) => row[4] === "").map((row) => row[1]), []);
  const named = new Set(rows.map((row) => row[1]?.replaceAll("`", "").split(".")[0]));
  const missing = Object.keys(field(valuesSchema(), "properties") ?? {}).filter((name) => !named.has(name));
  t.same(missing, ["global", "enabled"], "values that only a parent chart sets");
});

test("rejects a file that is not a map of values", (t) => {
  t.throws(() => chartValueLines("- a\n", {}), { message: "values.yaml is not a map" });
  t.end();
});
