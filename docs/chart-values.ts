// The reference of the values of the Helm chart: a row for each value, from the comments and defaults in values.yaml,
// and from the schema.
import { isMap, isScalar, type Node, parseDocument, type YAMLMap } from "yaml";
import { field, isJsonObject } from "../shared/formats/json.ts";

/** Returns the lines of the page. `values` is the text of values.yaml. */
export function chartValueLines(values: string, schema: unknown): string[] {
  const { contents } = parseDocument(values);
  if (!isMap(contents)) throw new Error("values.yaml is not a map");
  const rows = [...rowsOf(contents, schema, "")];
  return ["| value | type | default | meaning |", "| --- | --- | --- | --- |", ...rows.map((row) => `| ${row} |`)];
}

/** Yields a row for each value without values of its own, and for each map whose comment says more. */
function* rowsOf(map: YAMLMap, schema: unknown, prefix: string): Iterable<string> {
  for (const [index, { key, value }] of map.items.entries()) {
    if (!isScalar(key)) continue;
    const path = `${prefix}${String(key.value)}`;
    const own = field(field(schema, "properties"), String(key.value));
    // The parser adds the comment before the first key to the map.
    const comment = key.commentBefore ?? (index === 0 ? map.commentBefore : null) ?? "";
    if (isMap(value) && hasOwnValues(value, own)) {
      if (comment !== "") yield [code(path), "", "", meaning(comment)].join(" | ");
      yield* rowsOf(value, own, `${path}.`);
    } else yield [code(path), typeText(own), defaultText(value), meaning(comment)].join(" | ");
  }
}

/** Whether the chart defines the keys of the map, and not the user. */
function hasOwnValues(map: YAMLMap, schema: unknown): boolean {
  const isClosed = field(schema, "additionalProperties") === false && field(schema, "patternProperties") === undefined;
  return isClosed && map.items.length > 0;
}

function typeText(schema: unknown): string {
  const choices = field(schema, "enum");
  if (Array.isArray(choices)) return choices.filter((one) => one !== "").map((one) => code(String(one))).join(", ");
  const range = ["from", "to"].map((word, index) => {
    const bound = field(schema, index === 0 ? "minimum" : "maximum");
    return typeof bound === "number" ? ` ${word} ${bound}` : "";
  }).join("");
  const types = [field(schema, "type")].flat().filter((type) => type !== "null").map(String);
  return types.map((type) => {
    if (type === "array") return "list";
    if (type === "object") return "map";
    return type === "string" && types.includes("integer") ? "percentage" : type;
  }).join(" or ") + range;
}

function defaultText(value: unknown): string {
  const data: unknown = isNode(value) ? value.toJSON() : null;
  if (data === null || data === "") return "";
  return code(typeof data === "string" ? data : JSON.stringify(data));
}

function isNode(value: unknown): value is Node {
  return isJsonObject(value) && "toJSON" in value;
}

/** Returns the last paragraph of a comment: the first one can be about the file. An indented line is an example. */
function meaning(comment: string): string {
  const lines = (comment.split("\n\n").at(-1) ?? "").split("\n").map((line) => line.replace(/^ /, ""));
  const texts = lines.map((line) => (line.startsWith(" ") ? code(line.trim()) : linked(line.trim())));
  return texts.join(" ").trim().replaceAll("|", "\\|");
}

/** Returns the text with links in place of the names of pages. */
function linked(text: string): string {
  return text
    .replaceAll(/\bdocs\/([a-z-]+\.md)((?:#[a-z-]+)?)/g, "[$1]($1$2)")
    .replaceAll("(README.md)", "([README.md](../manifests/chart/README.md))");
}

function code(text: string): string {
  return `\`${text}\``;
}
