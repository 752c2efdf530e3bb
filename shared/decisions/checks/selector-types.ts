import type { FieldPath } from "../field-path.ts";
import type { WrittenTypeEntry } from "../iamroleselector.ts";
import { effectiveEntry, readsAPIVersion, rewrittenEntry, type TypeEntry } from "../type-entry.ts";
import type { Fault, SelectorCheck } from "./check.ts";
import { quote } from "../quote.ts";

const PATH = ["spec", "resourceTypeSelector"] as const;

export const IRS_12: SelectorCheck = {
  id: "IRS-12",
  severity: "deny",
  waivable: false,
  reason: "Controllers drop a selector with an entry that names nothing or is repeated, and do not know the apiVersion form.",
  fix: "name a group such as s3.services.k8s.aws, a version, a kind, or several of them, once; leave resourceTypeSelector out to select every kind",
  example: "spec: {resourceTypeSelector: [{group: '', version: '', kind: ''}]}",
  *find(subject): Iterable<Fault> {
    const seen = new Set<string>();
    for (const [i, entry] of (subject.written.resourceTypeSelector ?? []).entries()) {
      const path: FieldPath = [...PATH, i];
      const formFault = apiVersionFault(entry, path, readsAPIVersion(subject));
      if (formFault !== null) {
        yield formFault;
        continue;
      }
      const effective = effectiveEntry(entry, subject);
      const key = `${effective.group}/${effective.version}/${effective.kind}`;
      if (key === "//") yield { path, message: "the entry is empty: it names no group, version or kind", dropsSelector: true };
      else if (seen.has(key)) yield { path, message: `the entry ${describeEntry(effective)} is listed already`, dropsSelector: true };
      seen.add(key);
    }
  },
};

function apiVersionFault(entry: WrittenTypeEntry, path: FieldPath, read: boolean): Fault | null {
  if (entry.apiVersion === null) return null;
  const at: FieldPath = [...path, "apiVersion"];
  if (entry.group !== "" || entry.version !== "") {
    return { path: at, message: "apiVersion stands beside group or version, which say the same", fix: "write group and version alone", dropsSelector: true };
  }
  const rewritten = rewrittenEntry(entry);
  if (rewritten === null) {
    return { path: at, message: `${quote(entry.apiVersion)} is not GROUP/VERSION`, fix: "write both, such as s3.services.k8s.aws/v1alpha1, or group alone for any version", dropsSelector: true };
  }
  if (read) return null;
  const fix = `write group: ${rewritten.group} and version: ${rewritten.version} instead, or let the webhook's /mutate/iamroleselectors rewrite it`;
  return { path: at, message: "apiVersion was not rewritten, and controllers do not read it", fix, dropsSelector: true };
}

/** As messages show an entry. */
export function describeEntry({ group, version, kind }: TypeEntry): string {
  return `{group: ${quote(group)}, version: ${quote(version)}, kind: ${quote(kind)}}`;
}
