import { LIMITS } from "../../shared/core/limits.ts";
import { ResolverError } from "../../shared/formats/errors.ts";
import { namespaceNameFaults } from "../../shared/formats/names.ts";
import { quote } from "../../shared/formats/text.ts";

/** Throws ERR_REQUEST_MALFORMED if the path has a query. */
export function rejectQuery(path: string): void {
  rejectIfAny(unknownParameters(searchOf(path), []));
}

export function namespaceFaults(name: string): string[] {
  return namespaceNameFaults(name).map((fault) => `namespace ${quote(name)}: ${fault}`);
}

/** Returns the query of a path. Throws ERR_REQUEST_MALFORMED if it has too many parameters. */
export function searchOf(path: string): URLSearchParams {
  const mark = path.indexOf("?");
  const search = new URLSearchParams(mark < 0 ? "" : path.slice(mark + 1));
  const { value: limit } = LIMITS.queryParameters;
  if (search.size > limit) rejectIfAny([`the query has ${search.size} parameters (limit: ${limit})`]);
  return search;
}

/** Returns a fault for each parameter that is not known. */
export function unknownParameters(search: URLSearchParams, known: readonly string[]): string[] {
  const unknown = [...new Set(search.keys())].filter((name) => !known.includes(name));
  const accepted = known.length === 0 ? "no parameters" : known.join(" and ");
  return unknown.map((name) => `parameter ${quote(name)} is unknown (this path accepts ${accepted})`);
}

/** Throws ERR_REQUEST_MALFORMED, which lists the faults, if there are any. */
export function rejectIfAny(faults: readonly string[]): void {
  if (faults.length === 0) return;
  const { value: limit } = LIMITS.faultsPerCheck;
  const more = faults.length > limit ? `; and ${faults.length - limit} more` : "";
  throw new ResolverError("ERR_REQUEST_MALFORMED", `Invalid request: ${faults.slice(0, limit).join("; ")}${more}.`);
}
