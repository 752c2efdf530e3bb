import * as fc from "fast-check";

/**
 * A short description of a hostile JSON value, so that a failed run can print its smallest input. `toJSON` expands the
 * description to JSON text, because JSON.stringify fails for deep values.
 */
export type Hostile =
  | { readonly form: "json"; readonly json: string }
  | { readonly form: "list" | "map" | "deep list" | "deep map" | "text"; readonly size: number; readonly unit: string }
  | { readonly form: "joined"; readonly size: number; readonly unit: string; readonly separator: string };

/** The units are valid and almost valid parts of the values that the checks parse. */
const UNITS = [
  "a", "", "team-a", "team", "=", "a=b", "{namespace}", "{", "}", "{selector}-{account}", "a/b", "/", ":", "*",
  "IRS-30", "arn:aws:iam::111122223333:role/team-a", "arn:aws:iam::", "s3.services.k8s.aws/Bucket/a", "spec.a",
  "spec[0]", "[", '"', "\u0000", "\u001b[2J", "\ud800", "\u0130", "e\u0301", " ", "\n", "a".repeat(63), "a".repeat(317),
  "%", "-", "0", "9",
] as const;
const SCALARS = [
  "null", "true", "-0", "1e308", "1e999", '""', "{}", "[]", '{"__proto__":{"a":1}}', '{"constructor":{"prototype":1}}',
  '"\\u0000"', '"\\ud800"', "[null]", "[[]]", '{"":""}', '["a","a"]', "0.1", '"111122223333"', "9007199254740993",
  '[{"key":"a","operator":"In","values":["b"]}]', '[{"group":"s3.services.k8s.aws","version":"v1","kind":"Bucket"}]',
  '{"matchLabels":{"a":"b"}}', '[{"key":"a","operator":"NotIn","values":null}]', '{"names":["team-a"]}', '{"a":null}',
] as const;

/** Small sizes are frequent, because most small values do not exceed the limits. */
export const size = fc.oneof(
  fc.integer({ min: 0, max: 5 }), fc.integer({ min: 6, max: 200 }), fc.integer({ min: 201, max: 5_000 }),
  fc.integer({ min: 5_001, max: 150_000 }),
);
export const unit = fc.oneof(fc.constantFrom(...UNITS), fc.string({ maxLength: 5, unit: "binary" }));

export const hostile: fc.Arbitrary<Hostile> = fc.oneof(
  fc.record({ form: fc.constant("json" as const), json: fc.oneof(fc.constantFrom(...SCALARS), fc.json()) }),
  fc.record({ form: fc.constantFrom("list", "map", "deep list", "deep map", "text"), size, unit }),
  fc.record({
    form: fc.constant("joined" as const), size, unit, separator: fc.constantFrom(",", ";", " ", ", ", "=", "\n"),
  }),
);

/**
 * The maximum length of an expanded value. Longer values are unnecessary, because the API server accepts objects of at
 * most 3 MiB from a client.
 */
const MAX_LENGTH = 2_500_000;

/** Returns the value as JSON text. */
export function toJSON(value: Hostile): string {
  if (value.form === "json") return value.json;
  const item = JSON.stringify(value.unit);
  if (value.form === "joined") return JSON.stringify(repeat(value.unit + value.separator, value.size));
  if (value.form === "text") return JSON.stringify(repeat(value.unit, value.size));
  const count = Math.min(value.size, Math.floor(MAX_LENGTH / (item.length + 8)));
  if (value.form === "list") return `[${Array.from({ length: count }, () => item).join(",")}]`;
  if (value.form === "map") {
    const entries = Array.from({ length: count }, (_, i) => `${JSON.stringify(value.unit + i.toString(36))}:${item}`);
    return `{${entries.join(",")}}`;
  }
  const isList = value.form === "deep list";
  return (isList ? "[" : `{${item}:`).repeat(count) + item + (isList ? "]" : "}").repeat(count);
}

/** Repeats the text up to the maximum length. JSON can need 6 characters for each character of the text. */
export function repeat(text: string, times: number): string {
  return text.repeat(Math.min(times, Math.floor(MAX_LENGTH / 6 / Math.max(1, text.length))));
}
