import { isACKGroup } from "../ack-resource.ts";
import { closest } from "../closest.ts";
import { quote } from "../quote.ts";
import type { TypeEntry } from "../type-entry.ts";
import type { Check, Found, SelectorChange } from "./check.ts";
import { typeEntries } from "./selector-kinds.ts";
import { someNames } from "./some-names.ts";

export const IRS_13: Check<SelectorChange> = {
  id: "IRS-13",
  severity: "warn",
  waivable: false,
  reason: "An entry that no installed kind fits selects nothing, and what it was meant for falls to the controllers' own account.",
  fix: "write group, version and kind as kubectl get crd has them, or install the controller that brings the kind",
  example: "spec: {resourceTypeSelector: [{group: s3.services.k8s.aws, kind: Buckets}]}",
  needs: ["kinds"],
  *find({ written, origin, settings: { runtime }, inventory }): Found {
    const installed = [...inventory.installedTypes()];
    for (const [path, entry] of typeEntries({ written, origin, runtime })) {
      yield null; // each entry may be compared with every kind there is
      const fault = entry.group === "" || isACKGroup(entry.group) ? mismatch(entry, installed) : null;
      if (fault !== null) yield { path: [...path, fault.part], message: fault.message };
    }
  },
};

interface Mismatch {
  readonly part: keyof TypeEntry;
  readonly message: string;
}

/** The first part that leaves no installed kind, the group before the kind before the version; null when one is left. */
function mismatch({ group, version, kind }: TypeEntry, installed: readonly TypeEntry[]): Mismatch | null {
  const ofGroup = installed.filter((type) => group === "" || type.group === group);
  if (ofGroup.length === 0) return { part: "group", message: `no kind of the group ${quote(group)} is installed${guess(group, installed.map((type) => type.group))}` };
  const ofKind = ofGroup.filter((type) => kind === "" || type.kind === kind);
  if (ofKind.length === 0) return { part: "kind", message: `no kind ${quote(kind)} is installed${guess(kind, ofGroup.map((type) => type.kind))}` };
  if (version === "" || ofKind.some((type) => type.version === version)) return null;
  const stored = new Set(ofKind.map((type) => type.version));
  return { part: "version", message: `${quote(version)} is not the version that controllers compare with, which is the stored one: ${someNames(stored)}` };
}

function guess(text: string, known: readonly string[]): string {
  const meant = closest(text, new Set(known));
  return meant === null ? "" : `; perhaps ${meant} was meant`;
}
