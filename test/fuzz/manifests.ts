import { INVENTORY_KINDS } from "../../shared/kinds.ts";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { ResolverError } from "../../shared/formats/errors.ts";
import { Inventory } from "../../shared/core/inventory.ts";
import { parseRoleARN } from "../../shared/formats/arn.ts";
import { parseKindArgument } from "../../shared/core/ack-groups.ts";
import { parseLabels } from "../../shared/formats/label-selector.ts";
import { drain } from "../../shared/formats/paced.ts";
import { LIMITS } from "../../shared/core/limits.ts";
import { formatInputFault, readManifests } from "../../shared/files/manifest-reader.ts";
import { ManifestSource } from "../../shared/sources/file-source.ts";
import { snapshotOf } from "../../shared/sources/file-snapshot.ts";
import { differenceOf } from "../shared/files/reference-parser.ts";
import { hostile, repeat, size, toJSON, unit } from "./hostile.ts";
import { type Target, target } from "./target.ts";

const HEAD = "apiVersion: services.k8s.aws/v1alpha1\nkind: IAMRoleSelector\nmetadata: {name: a}\n";

/** Parts of YAML whose repetition is expensive for some parsers. */
const PARTS = [
  "[", "]", "{", "}", "{a: ", "[? ", "- ", "? ", ": ", "a: ", "a:\n", "  a:\n", " ", "\t", "\n", "\r\n", "# c\n",
  "---\n", "...\n", "%YAML 1.1\n", "%TAG ! x\n", "&a ", "*a ", "!a ", "!!str ", "!!binary ", "!!int ", "<<: *a\n",
  "<<: {a: 1}\n", '"', "'", "''", "\\x41", "|\n", ">\n", "a: |\n", "a: &a [*a]\n", "x: &x []\n", "- &a x\n", "- *a\n",
  ",", "a,", "1", "0x", "1_", "1e", ".", "~", "on", "\uFEFF", "\u0000", "\u2028", "\ud800", "%", "@", "`", "-", "=",
  HEAD, `${HEAD}---\n`, "items:\n", "kind: List\n", "a: [*a,*a]\n", "b: &b [*a, *a, *a, *a]\n", "__proto__: 1\n",
  "? [a]\n: b\n", "metadata: ",
] as const;
const part = fc.record({ part: fc.oneof(fc.constantFrom(...PARTS), unit), size });
/** The maximum length of a text. The length is limited, because the yaml package parses about 1 MB per second. */
const MAX_TEXT = 200_000;

/** Generates texts that consist of YAML parts, and JSON texts that contain a hostile value. */
const manifestText = fc.oneof(
  fc.array(part, { maxLength: 8 }).map((parts) => ({ parts })),
  fc.record({ field: fc.constantFrom("spec", "metadata", "items", "data", "status"), value: hostile }),
);

type ManifestText = typeof manifestText extends fc.Arbitrary<infer Input> ? Input : never;

function manifestTextOf(input: ManifestText): string {
  if ("parts" in input) return joined(input.parts.map((one) => ({ unit: one.part, size: one.size })));
  const head = '{"apiVersion":"services.k8s.aws/v1alpha1","kind":"IAMRoleSelector"';
  return `${head},"${input.field}":${toJSON(input.value)}}`.slice(0, MAX_TEXT);
}

/** A longer text is not compared, because the yaml package would read it twice. */
const MAX_COMPARED = 10_000;

/** The reader must return objects and faults, and must not throw. Both YAML parsers must return the same objects. */
export const MANIFESTS: Target = target("manifests", {
  input: manifestText,
  expand: manifestTextOf,
  // Allows a long block, because only commands that serve no requests read manifests in the main thread.
  maxBlockMs: 2_000,
  run(text) {
    const { manifests, faults } = readManifests(text, "a.yaml");
    if (faults.length > LIMITS.faultsPerFile.value + 1) throw new Error(`${faults.length} faults`);
    faults.forEach(formatInputFault);
    const difference = text.length > MAX_COMPARED ? null : differenceOf(text);
    if (difference !== null) throw new Error(difference);
    for (const { lineOf } of manifests) lineOf(["metadata", "name"]);
    const inventory = new Inventory({ runtime: "ack", origin: "file" }, INVENTORY_KINDS);
    inventory.apply([...drain(snapshotOf(manifests)).objects.values()].map(({ object }) => ({ type: "put", object })));
  },
});

/**
 * Writes the texts of the target MANIFESTS to a file that a server reads. The server must not block while it reads the
 * file.
 */
export const FILES: Target = target("files", {
  input: manifestText,
  async expand(input) {
    const folder = await mkdtemp(join(tmpdir(), "ack-role-resolver-fuzz-"));
    await writeFile(join(folder, "a.yaml"), manifestTextOf(input));
    return folder;
  },
  async run(folder) {
    const source = new ManifestSource([folder], { runtime: "ack" });
    try {
      await source.start();
    } catch (error) {
      if (!(error instanceof ResolverError)) throw error;
    }
    await source.stop();
    await rm(folder, { recursive: true });
  },
});

/** Parses hostile texts as ARNs, kinds, labels and label selectors. */
export const TEXTS: Target = target("texts", {
  input: fc.array(fc.record({ unit, size }), { maxLength: 4 }),
  expand: joined,
  run(text) {
    parseRoleARN(text);
    parseRoleARN(`arn:aws:iam::111122223333:role/${text}`);
    parseKindArgument(text);
    parseLabels([text, `a=${text}`, `${text}=a`], () => undefined);
  },
});

function joined(parts: readonly { readonly unit: string; readonly size: number }[]): string {
  return parts.map((one) => repeat(one.unit, one.size)).join("").slice(0, MAX_TEXT);
}
