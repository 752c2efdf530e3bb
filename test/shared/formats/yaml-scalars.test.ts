import { test } from "tap";
import { plainScalar, type Scalar, scalarKey } from "../../../shared/formats/yaml-scalars.ts";

// Lists each scalar with the output of sigs.k8s.io/yaml 1.6.0: the value for `k: SCALAR`, and the key for `SCALAR: v`.
const SCALARS: readonly (readonly [text: string, value: Scalar, key: string | null])[] = [
  ...["on", "On", "yes", "YES", "y", "Y", "true", "TRUE"].map((text) => [text, true, "true"] as const),
  ...["off", "Off", "no", "NO", "n", "N", "false", "FALSE"].map((text) => [text, false, "false"] as const),
  ...["", "~", "null", "Null", "NULL"].map((text) => [text, null, null] as const),
  ...["oN", "yEs", "nUll", "e3", "e2", ".", ".e3", "._5", "=", "<<", "1e", "0x", "0b", "0b2", "1.2.3"].map(
    (text) => [text, text, text] as const,
  ),
  ...["12:30", "12:30:45", "190:20:30.15", "2020-01-01", "2020-1-1", "2020-01-01T00:00:00Z"].map(
    (text) => [text, text, text] as const,
  ),
  ["0123", 83n, "83"],
  ["-0123", -83n, "-83"],
  ["0o17", 15n, "15"],
  ["0O17", 15n, "15"],
  ["0x1F", 31n, "31"],
  ["0X1f", 31n, "31"],
  ["0b11", 3n, "3"],
  ["-0B11", -3n, "-3"],
  ["1_000", 1000n, "1000"],
  ["0_", 0n, "0"],
  ["+1", 1n, "1"],
  ["-0", 0n, "0"],
  ["123456789012", 123456789012n, "123456789012"],
  ["9223372036854775807", 2n ** 63n - 1n, "9223372036854775807"],
  ["-9223372036854775808", -(2n ** 63n), "-9223372036854775808"],
  ["18446744073709551615", 2n ** 64n - 1n, "18446744073709551615"], // kubectl rejects this key.
  // A number of more than 64 bits, or an octal number with an 8 or 9, is a float as a value and a float32 as a key.
  ["+18446744073709551615", 2 ** 64, "1.8446744e+19"],
  ["-9223372036854775809", -(2 ** 63), "-9.223372e+18"],
  ["18446744073709551616", 2 ** 64, "1.8446744e+19"],
  [`0b${"1".repeat(65)}`, `0b${"1".repeat(65)}`, `0b${"1".repeat(65)}`],
  ["0129", 129, "129"],
  ["012345678901", 12345678901, "1.2345679e+10"],
  ["1000920640.0", 1000920640, "1.00092064e+09"],
  ["1.5", 1.5, "1.5"],
  ["-1.5", -1.5, "-1.5"],
  ["1.", 1, "1"],
  ["1.10", 1.1, "1.1"],
  [".5", 0.5, "0.5"],
  [".5e3", 500, "500"],
  ["1e3", 1000, "1000"],
  ["1e5", 100000, "100000"],
  ["1e6", 1e6, "1e+06"],
  ["123456.7", 123456.7, "123456.7"],
  ["1234567.5", 1234567.5, "1.2345675e+06"],
  ["0.0001", 0.0001, "0.0001"],
  ["0.00001", 0.00001, "1e-05"],
  ["0.0", 0, "0"],
  ["1e39", 1e39, ".inf"],
  ["-1e39", -1e39, "-.inf"],
  ["1e400", "1e400", "1e400"],
  [".inf", Infinity, ".inf"],
  ["-.Inf", -Infinity, "-.inf"],
  [".NaN", Number.NaN, ".nan"],
];

test("parses plain scalars like kubectl, as values and as keys", async (t) => {
  for (const [text, value, key] of SCALARS) {
    t.ok(Object.is(plainScalar(text), value), `${text} as a value`);
    t.equal(scalarKey(plainScalar(text)), key, `${text} as a key`);
  }
});
