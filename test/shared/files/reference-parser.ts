import { LineCounter } from "yaml";
import type { FieldPath } from "../../../shared/formats/json.ts";
import { yamlDocuments } from "../../../shared/files/yaml-documents.ts";
import { documentsFromEvents, type EventDocument } from "../../../shared/files/yaml-events.ts";
import { AliasBudget, type Positions, YamlValues } from "../../../shared/files/yaml-values.ts";

/** A document as the yaml package reads it: its JSON, and the line of each field and item by path. */
interface ReferenceDocument {
  readonly json: string;
  readonly lines: readonly (readonly [path: FieldPath, line: number])[];
}

/**
 * Reads a text with both parsers. Returns null if they agree or if the events parser leaves the text to the yaml
 * package, else returns the difference.
 */
export function differenceOf(text: string): string | null {
  const documents = documentsFromEvents(text);
  if (documents === null) return null;
  const { references, faults } = readReference(text);
  if (faults.length > 0) return `the yaml package reports: ${faults.join("; ")}`;
  if (documents.length !== references.length) return `${documents.length} documents, not ${references.length}`;
  return documents.map((document, i) => compare(document, references[i])).find((one) => one !== null) ?? null;
}

function compare({ value, line, lines }: EventDocument, reference: ReferenceDocument | undefined): string | null {
  const json = JSON.stringify(value);
  if (json !== reference?.json) return `${json}, not ${reference?.json}`;
  // An empty document has no line.
  if (value === null) return null;
  const wrong = reference.lines.find(([path, expected]) => lines.lineOf(value, path, line) !== expected);
  return wrong === undefined ? null : `line of ${JSON.stringify(wrong[0])}, not ${wrong[1]}`;
}

function readReference(text: string): { readonly references: ReferenceDocument[]; readonly faults: string[] } {
  const counter = new LineCounter();
  const positions: Positions = new WeakMap();
  const faults: string[] = [];
  const references: ReferenceDocument[] = [];
  const fault = (_: number, message: string): void => void faults.push(message);
  const context = { positions, aliases: new AliasBudget(), fault };
  const lineOf = (offset: number): number => Math.max(1, counter.linePos(offset).line);
  for (const { errors, contents } of yamlDocuments(text, counter)) {
    faults.push(...errors.map(({ message }) => message));
    const value = errors.length > 0 ? null : new YamlValues(context).read(contents);
    const start: ReferenceDocument["lines"][number] = [[], lineOf(contents?.range[0] ?? 0)];
    const fields = [...offsetsOf(value, positions)].map(([path, offset]) => [path, lineOf(offset)] as const);
    references.push({ json: JSON.stringify(value), lines: [start, ...fields] });
  }
  return { references, faults };
}

function* offsetsOf(
  value: unknown, positions: Positions, path: FieldPath = [],
): Generator<readonly [FieldPath, offset: number]> {
  if (typeof value !== "object" || value === null) return;
  const values = new Map<string, unknown>(Object.entries(value));
  for (const [key, offset] of positions.get(value) ?? []) {
    yield [[...path, key], offset];
    yield* offsetsOf(values.get(String(key)), positions, [...path, key]);
  }
}
