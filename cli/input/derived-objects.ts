import { JUDGES } from "../../shared/judges.ts";
import type { Derivation } from "../../shared/core/derivation.ts";
import type { Manifest } from "../../shared/files/manifest-reader.ts";
import { isReference, type Unjudged } from "../../shared/files/unjudged.ts";
import type { JsonObject } from "../../shared/formats/json.ts";

/** An object and its place in the input. */
interface Placed extends Pick<Manifest, "object" | "lineOf"> {
  readonly file: string | null;
  readonly from?: Placed;
}

/** An object that a controller creates from another one. */
interface Derived<Found extends Placed> extends Placed {
  readonly from: Found;
}

/** What the objects that controllers create mean for the coverage. */
export interface DerivedCoverage {
  /** The references to identities that are judged in the objects that result. */
  readonly judged: readonly Reference[];
  readonly unjudged: readonly Unjudged[];
}

interface Reference {
  readonly file: string | null;
  readonly value: unknown;
}

/** Adds the objects that controllers create from the objects of manifests. */
export function withDerived<Found extends Placed>(
  objects: readonly Found[],
): DerivedCoverage & { readonly objects: readonly (Found | Derived<Found>)[] } {
  const derivations = derivationsOf(objects.map(({ object }) => object));
  const results = derivations.flatMap((one) => one.objects);
  const unknown = derivations.flatMap((one) => one.unknown);
  if (results.length === 0 && unknown.length === 0) return { objects, judged: [], unjudged: [] };
  const found = new Map(objects.map((one) => [one.object, one]));
  const fileOf = (object: JsonObject): string | null => found.get(object)?.file ?? null;
  const derived = results.flatMap(({ object, from, pathOf }): Derived<Found>[] => {
    const source = found.get(from);
    if (source === undefined) return [];
    return [{ object, file: source.file, lineOf: (path) => source.lineOf(pathOf(path)), from: source }];
  });
  return {
    objects: [...objects, ...derived],
    judged: results.flatMap(({ reads }) => reads.map(({ object, value }) => ({ file: fileOf(object), value }))),
    unjudged: unknown.map((object) => ({ file: fileOf(object), reason: "topology", count: 1 })),
  };
}

/** Returns the objects that controllers create from the objects. */
export function derivedFrom(objects: readonly JsonObject[]): readonly JsonObject[] {
  return derivationsOf(objects).flatMap((one) => one.objects.map(({ object }) => object));
}

function derivationsOf(objects: readonly JsonObject[]): readonly Derivation[] {
  return JUDGES.flatMap(({ derive }) => derive?.(objects) ?? []);
}

/** Returns the objects without those that controllers create from them. */
export function withoutDerived<Found extends Placed>(objects: readonly Found[]): readonly Found[] {
  return objects.filter(({ from }) => from === undefined);
}

/** Returns what is not judged, without the references that are, and with what the roots add, each once. */
export function unjudgedWith(unjudged: readonly Unjudged[], roots: readonly DerivedCoverage[]): readonly Unjudged[] {
  const added = roots.flatMap((root) => root.unjudged);
  const judged = new Map(roots.flatMap((root) => root.judged).filter(({ value }) => isReference(value))
    .map(({ file, value }) => [value, file]));
  const files = Map.groupBy([...judged.values(), ...added.map(({ file }) => file)], (file) => file);
  const others = unjudged.map((one): Unjudged => {
    const known = one.reason === "reference" ? files.get(one.file)?.splice(0, one.count) ?? [] : [];
    return { ...one, count: one.count - known.length };
  });
  return [...others.filter(({ count }) => count > 0), ...added];
}
