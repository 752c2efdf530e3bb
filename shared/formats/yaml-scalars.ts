/**
 * The value of a parsed scalar. An integer is a bigint, because kubectl prints an integer key exactly but rounds an
 * integer value.
 */
export type Scalar = string | bigint | number | boolean | null;

/**
 * Parses an untagged plain scalar like kubectl (sigs.k8s.io/yaml 1.6, which uses `resolve.go` of go.yaml.in/yaml/v2).
 * kubectl follows neither YAML 1.1 nor YAML 1.2: `on` and `y` are true, `0123` and `0o17` are octal, and `1_000` is a
 * number. `e3`, `12:30` and dates are strings.
 */
export function plainScalar(text: string): Scalar {
  const word = text.length > LONGEST_WORD ? undefined : WORDS.get(text);
  if (word !== undefined) return word;
  if (text.startsWith(".")) return finiteOr(text, text, DOT_FLOAT);
  if (!/^[-+\d]/.test(text)) return text;
  const digits = text.replaceAll("_", "");
  return integer(digits) ?? finiteOr(digits, text, FLOAT);
}

const WORDS: ReadonlyMap<string, Scalar> = new Map<string, Scalar>([
  ...["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"].map((word) => [word, true] as const),
  ...["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"].map((word) => [word, false] as const),
  ...["", "~", "null", "Null", "NULL"].map((word) => [word, null] as const),
  ...[".nan", ".NaN", ".NAN"].map((word) => [word, Number.NaN] as const),
  ...[".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"].map((word) => [word, Infinity] as const),
  ...["-.inf", "-.Inf", "-.INF"].map((word) => [word, -Infinity] as const),
]);

const LONGEST_WORD = 5;
const DOT_FLOAT = /^\.\d+(?:[eE][-+]?\d+)?$/;
const FLOAT = /^[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?$/;
const INTEGER = /^([-+]?)(?:0[xX]([\da-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9]\d*))$/;
const MAX_INT64 = 2n ** 63n - 1n;
const MAX_UINT64 = 2n ** 64n - 1n;

/**
 * Parses an integer like Go's strconv.ParseInt and ParseUint with base 0. Returns null if the text is not an integer.
 */
function integer(digits: string): bigint | null {
  const match = INTEGER.exec(digits);
  if (match === null) return null;
  const [, sign = "", hexadecimal, binary, octal, decimal = "0"] = match;
  const text = literal({ hexadecimal, binary, octal, decimal });
  // Converting a long text takes quadratic time. A uint64 has at most 64 binary digits.
  if (text.replace(/^0[xbo]?0*/, "").length > 64) return null;
  const magnitude = BigInt(text);
  if (sign === "-") return magnitude <= MAX_INT64 + 1n ? -magnitude : null;
  return magnitude <= (sign === "+" ? MAX_INT64 : MAX_UINT64) ? magnitude : null;
}

interface Digits extends Partial<Record<"hexadecimal" | "binary" | "octal", string | undefined>> {
  readonly decimal: string;
}

function literal(parts: Digits): string {
  if (parts.hexadecimal !== undefined) return `0x${parts.hexadecimal}`;
  if (parts.binary !== undefined) return `0b${parts.binary}`;
  return parts.octal === undefined ? parts.decimal : `0o${parts.octal}`;
}

/**
 * Returns the number if the number is finite, else returns the text. Go treats a number that is out of range as text.
 */
function finiteOr(number: string, text: string, form: RegExp): Scalar {
  const value = form.test(number) ? Number(number) : Number.NaN;
  return Number.isFinite(value) ? value : text;
}

/**
 * Converts a scalar to the key of a JSON object. Returns null if kubectl rejects the key. kubectl prints a float key as
 * a float32. An account ID that has a leading zero and an 8 or 9 is a float: `012345678901:` becomes `1.2345679e+10`.
 */
export function scalarKey(scalar: Scalar): string | null {
  if (scalar === null) return null;
  if (typeof scalar !== "number") return String(scalar);
  if (Number.isNaN(scalar)) return ".nan";
  if (!Number.isFinite(scalar)) return scalar > 0 ? ".inf" : "-.inf";
  return float32Text(scalar);
}

/**
 * Formats a number like Go's strconv.FormatFloat(value, 'g', -1, 32). Returns the shortest digits that parse to the
 * same float32.
 */
function float32Text(value: number): string {
  const single = Math.fround(value);
  if (!Number.isFinite(single)) return single > 0 ? ".inf" : "-.inf";
  // Nine digits always suffice for a float32.
  const length = [1, 2, 3, 4, 5, 6, 7, 8].find((digits) => (
    Math.fround(Number(single.toExponential(digits - 1))) === single
  )) ?? 9;
  const [digits = "0", exponent = "0"] = single.toExponential(length - 1).split("e");
  const power = Number(exponent);
  if (power < -4 || power >= 6) return `${digits}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
  const significant = digits.replace(/[-.]/g, "").length;
  return Number(`${digits}e${power}`).toFixed(Math.max(0, significant - 1 - power));
}
