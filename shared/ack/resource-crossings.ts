import { resolve } from "../core/resolve.ts";
import { RESOURCES } from "./resources.ts";
import type { ACKResource } from "../core/ack-resource.ts";
import type { FieldPath } from "../formats/json.ts";
import { printable, quote } from "../formats/text.ts";
import type { Inventory } from "../core/inventory.ts";
import { BUNDLED_KINDS, typesIn } from "./bundled-types.ts";
import type { Crossing } from "./crossings.ts";
import type { Fault, QuickCheck } from "../core/check.ts";
import { ownerOfNamespace } from "../core/protected-namespaces.ts";
import { resourceInAccount } from "../core/fault-texts.ts";
import type { ResourceChange } from "./resource-change.ts";
import { by, type Repair, set } from "../core/repair.ts";
import { NEEDS } from "../core/requirements.ts";

/** The end of the fix of each check of crossings. */
export const FOR_NOW = "ACK allows it with --enable-cross-namespace=true";

/** The path of the field that names the other namespace. */
export function namespacePath({ path }: Crossing): FieldPath {
  return [...path, "namespace"];
}

/** Returns the repair that names an object of the own namespace, which a person may have to create first. */
export function ownNamespace(crossing: Crossing, own: string): readonly Repair[] {
  return by(set(namespacePath(crossing), own));
}

function hasCrossings({ crossings }: ResourceChange): boolean {
  return crossings().length > 0;
}

export const ACK_37: QuickCheck<ResourceChange> = {
  id: "ACK-37",
  severity: "warn",
  waivable: true,
  reason: "ACK announced that controllers will reject references to resources of other namespaces by default, and then "
    + "no longer reconcile a resource that has one (aws-controllers-k8s/community#3031). Until then, anyone who can "
    + "write a resource gets the ARN or ID of each resource of the cluster, whose account may be another team's.",
  fix: `move one of the resources, or set its ARN or ID; ${FOR_NOW}`,
  example: "spec: {roleRef: {from: {namespace: team-b, name: reader}}} # of a Function in namespace team-a",
  requires: [NEEDS.ownNamespace],
  section: "crossNamespace",
  when: hasCrossings,
  *find(change): Iterable<Fault> {
    const { resource } = change;
    for (const crossing of change.crossings()) {
      if (crossing.kind !== "reference") continue;
      const message = `the resource in namespace ${quote(resource.namespace)} gets the ARN or ID of `
        + describeTarget(change, crossing);
      const value = `${crossing.namespace}/${crossing.name}`;
      const isHere = referencedResource(change.inventory, { ...crossing, namespace: resource.namespace }) !== null;
      const repairs = isHere ? ownNamespace(crossing, resource.namespace) : [];
      yield { path: namespacePath(crossing), message, value, fix: ACK_37.fix, repairs };
    }
  },
};

/** Returns `Role team-b/reader in account 111122223333`; without the kind and the account if they are unknown. */
function describeTarget({ inventory, settings }: ResourceChange, crossing: Crossing): string {
  const target = referencedResource(inventory, crossing);
  if (target === null) return `${quote(crossing.name)} in namespace ${quote(crossing.namespace)}`;
  const account = target.status.ownerAccountID ?? resolve(inventory, target, settings).accountID;
  return printable(resourceInAccount(target, account));
}

/** The known kinds, and how the name of a field that refers to one ends. */
const KINDS = Array.from(
  new Map(Array.from(typesIn(BUNDLED_KINDS), (type) => [`${type.kind}.${type.group}`, type])).values(),
  (type) => ({ ...type, ending: type.kind.toLowerCase() }),
);

/**
 * Returns the stored resource that the reference means; null if it is not known. The name of the field usually ends in
 * the kind, as `kmsKeyRef` does. It names no group.
 */
function referencedResource(inventory: Inventory, { path, namespace, name }: Crossing): ACKResource | null {
  const [field = ""] = path.filter((step) => typeof step === "string").slice(-2); // the last step is `from`
  const word = field.replace(/Refs?$/, "").toLowerCase();
  const found = KINDS.filter(({ ending }) => word.endsWith(ending))
    .flatMap(({ group, kind }) => inventory.of(RESOURCES).get({ group, kind, namespace, name }) ?? []);
  const [first, ...others] = found.toSorted((a, b) => b.kind.length - a.kind.length);
  if (first === undefined) return null;
  return others.some(({ kind }) => kind.length === first.kind.length) ? null : first;
}

const READS_FIX = `copy the Secret into the namespace of the resource; ${FOR_NOW}`;
const WRITES_FIX = "name a Secret in the namespace of the resource";

export const ACK_38: QuickCheck<ResourceChange> = {
  id: "ACK-38",
  severity: "warn",
  waivable: true,
  reason: "A controller reads and writes Secrets of other namespaces with its own rights, so the author of a resource "
    + "needs no right to the Secret. ACK announced that controllers will refuse to read such a Secret by default, and "
    + "then no longer reconcile the resource (aws-controllers-k8s/community#3031). They still write such Secrets.",
  fix: READS_FIX,
  example: "spec: {masterUserPassword: {namespace: team-b, name: db, key: password}} # of a DBInstance in team-a",
  requires: [NEEDS.ownNamespace],
  section: "crossNamespace",
  when: hasCrossings,
  *find({ crossings, resource }): Iterable<Fault> {
    for (const crossing of crossings()) {
      if (crossing.kind === "reference") continue;
      const writes = crossing.kind === "secret-output";
      const message = `for the resource in namespace ${quote(resource.namespace)}, the controller `
        + `${writes ? "writes" : "reads"} Secret ${quote(`${crossing.namespace}/${crossing.name}`)}`;
      const fix = writes ? WRITES_FIX : READS_FIX;
      yield { path: namespacePath(crossing), message, fix, repairs: ownNamespace(crossing, resource.namespace) };
    }
  },
};

export const ACK_39: QuickCheck<ResourceChange> = {
  id: "ACK-39",
  severity: "deny",
  waivable: true,
  reason: "Secrets in the namespaces of controllers and of the webhook hold credentials. A controller reads and writes "
    + "Secrets with its own rights, so the author of a resource could copy such a Secret to AWS, or replace it.",
  fix: WRITES_FIX,
  example: "spec: {secretString: {namespace: capa-system, name: creds, key: SecretAccessKey}}",
  requires: [NEEDS.ownNamespace],
  when: hasCrossings,
  *find({ crossings, resource, settings }): Iterable<Fault> {
    for (const crossing of crossings()) {
      const owner = crossing.kind === "reference" ? null : ownerOfNamespace(crossing.namespace, settings);
      if (owner === null) continue;
      const verb = crossing.kind === "secret-output" ? "write" : "read";
      const name = quote(`${crossing.namespace}/${crossing.name}`);
      const message = `the controller would ${verb} Secret ${name}, whose namespace belongs to ${owner}`;
      const repairs = ownNamespace(crossing, resource.namespace);
      yield { path: namespacePath(crossing), message, fix: WRITES_FIX, repairs };
    }
  },
};
