import { compareText } from "../../shared/formats/text.ts";
import { assemble, type Published } from "./assemble.ts";
import { REVIEWED } from "./reviewed.ts";

/** Returns the file of the table of scopes, which the sidecar reads. */
export function scopesText(published: Readonly<Record<string, Published>>): string {
  const rows = Object.entries(published).map(([service, one]) => {
    const reviewed = REVIEWED.get(service);
    if (reviewed === undefined) throw new Error(`build/policies/reviewed.yaml has no row for ${service}`);
    return [`${service}.services.k8s.aws`, assemble(service, one, reviewed)] as const;
  });
  return jsonText(Object.fromEntries(rows));
}

/** Returns a record as sorted JSON with an entry in each line, so that its history shows what was added. */
export function jsonText(record: Readonly<Record<string, unknown>>): string {
  const entries = Object.entries(record).toSorted(([a], [b]) => compareText(a, b));
  return `${JSON.stringify(Object.fromEntries(entries), null, 1)}\n`;
}
