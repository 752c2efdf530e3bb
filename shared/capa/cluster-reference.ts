import {
  CONTROLLER_IDENTITY, IDENTITY_KINDS, identityKindOf, ROLE_IDENTITY, STATIC_IDENTITY,
} from "../core/capa-kinds.ts";
import type { AccessByName } from "../core/context.ts";
import { describeValue } from "../core/shape.ts";
import { type IdentityUse, identityUses, usedIdentity } from "./cluster-identity-uses.ts";
import { type FieldPath, formatFieldPath, isJsonObject, type JsonObject, valueAt } from "../formats/json.ts";
import { objectReference } from "../formats/object-meta.ts";
import { closest } from "../formats/nearest.ts";
import { quote } from "../formats/text.ts";
import { readReferrer, type Referrer, referrerPath } from "./referrer.ts";
import { resolveReferrer } from "./resolve-identity.ts";
import { type Repair, repairsOf } from "../core/repair.ts";
import {
  kindRepairs, misplacedRepairs, missingNameRepairs, type ReferenceChange, shapeRepairs,
} from "./reference-repairs.ts";
import type { CheckContext, CheckInput, Fault, QuickCheck } from "../core/check.ts";
import { useFix, useRepairs, useRule } from "../core/use-rights.ts";
import { CLUSTER_LABEL } from "./cluster-parts.ts";
import { NEEDS } from "../core/requirements.ts";

/** A change of an object for which CAPA uses an identity. */
interface UseChange extends Pick<CheckContext, "requester"> {
  readonly namespace: string;
  /** Returns the result of `identityUses`. */
  readonly uses: () => ReadonlyMap<string, IdentityUse>;
  /** Whether the requester may use each identity; null if no access review was made. */
  readonly access: AccessByName | null;
}

export const AC_05: QuickCheck<UseChange> = {
  id: "AC-05",
  severity: "off",
  reason: "Anyone who can write a cluster in a namespace can make CAPA act with each identity that allows the "
    + "namespace. If this check is on, a requester who creates, changes or deletes an object needs the verb `use` on "
    + "the identity that it uses before or after the change. An object without identityRef uses the "
    + "AWSClusterControllerIdentity `default`. A machine, a pool or a Fargate profile uses the identities of the "
    + `Cluster that its label \`${CLUSTER_LABEL}\` or \`spec.clusterName\` names. If the webhook knows no identity of `
    + "the Cluster, the requester needs the verb on every identity. The service accounts of CAPA "
    + "(`--capa-service-accounts`) do not need the verb. Those of Cluster API (`--cluster-api-service-accounts`) need "
    + "it only to set an identityRef.",
  fix: `create a Role in the namespace of the object, or a ClusterRole, with the rule ${useRule(usedIdentity(null))}, `
    + "and a RoleBinding in that namespace that grants it to the requester",
  example: "an AWSCluster created by a user without the verb use on the identity in its identityRef",
  requires: [NEEDS.accessReviews],
  on: ["CREATE", "UPDATE", "DELETE"],
  ofChange: true, // the webhook does not know who wrote the stored object
  *find({ access, namespace, requester, uses }): Iterable<Fault> {
    for (const [key, { fix, identity, path, what }] of uses()) {
      const answer = access?.get(key) ?? "unknown";
      if (answer === "denied") {
        const message = identity === null
          ? `${what}, so the requester needs the verb use on every identity`
          : `the requester may not use ${what}`;
        const used = usedIdentity(identity);
        const repairs = useRepairs(used, namespace, requester);
        yield { path, message, fix: fix ?? useFix(used, namespace), ...repairsOf(repairs) };
      }
      if (answer === "unknown") {
        const used = identity === null ? `every identity, which is required because ${what}` : what;
        const message = `the webhook could not verify that the requester may use ${used}`;
        yield { path, message, fix: "retry in a moment; the webhook log shows why the access review failed" };
      }
    }
  },
};

export const AC_00: QuickCheck<ClusterChange> = {
  id: "AC-00",
  severity: "deny",
  reason:
    "CAPA rejects a reference whose kind is not an identity, or that has no name. It rejects or prunes a reference "
    + "in a field with another name: CAPA then uses its own credentials.",
  fix: `set identityRef to {kind: KIND, name: NAME}; KIND is ${CONTROLLER_IDENTITY}, ${STATIC_IDENTITY} or `
    + ROLE_IDENTITY,
  example: "kind: AWSCluster\nspec: {identityRef: {kind: AWSClusterIdentityIdentity, name: a}}",
  *find(change): Iterable<Fault> {
    const { object, referrer } = change;
    const path = referrerPath(referrer);
    const reference = valueAt(object, path);
    if (referrer.written === null) yield* misplacedFaults(change, path);
    else if (isJsonObject(reference)) yield* referenceFaults(change, reference, referrer.written);
    else {
      const message = `expected an object, not ${describeValue(reference)}`;
      yield { path, message, ...repairsOf(shapeRepairs(change, reference)) };
    }
  },
};

function* referenceFaults(
  change: ClusterChange, reference: JsonObject, written: NonNullable<Referrer["written"]>,
): Iterable<Fault> {
  const { kind, name } = written;
  const path = [...referrerPath(change.referrer), "kind"];
  if (kind === "") yield missingFault(change, reference, "kind", () => kindRepairs(change, written));
  else if (identityKindOf(kind) === null) {
    yield { path, message: kindFault(kind), ...repairsOf(kindRepairs(change, written)) };
  }
  if (name === "") yield missingFault(change, reference, "name", () => missingNameRepairs(change, kind));
}

/** Returns the fault of a missing field, or of a field that has its name in another case. */
function missingFault(
  change: ClusterChange, reference: JsonObject, name: "kind" | "name", repairs: () => readonly Repair[],
): Fault {
  const path = referrerPath(change.referrer);
  const other = Object.keys(reference).find((key) => key !== name && key.toLowerCase() === name);
  if (other !== undefined) return unknownField(change, [...path, other], [...path, name]);
  return { path: [...path, name], message: `the ${name} of the identity is missing`, ...repairsOf(repairs()) };
}

function kindFault(kind: string): string {
  const meant = IDENTITY_KINDS.find((one) => one.toLowerCase() === kind.toLowerCase());
  const hint = meant === undefined ? "" : `; perhaps ${meant} was meant`;
  return `${quote(kind)} is not the kind of an identity${hint}`;
}

/** `to` is the field that is meant. A field of the same object is named without its path. */
function unknownField(change: ClusterChange, path: FieldPath, to: FieldPath): Fault {
  const [depth, inReference] = [path.length - 1, referrerPath(change.referrer).length];
  const name = formatFieldPath(path.slice(depth));
  const meant = formatFieldPath(to.slice(depth === inReference ? depth : 0));
  const message = `unknown field ${quote(name)}; perhaps ${meant} was meant`;
  return { path, message, ...repairsOf(misplacedRepairs(change, path, to)) };
}

/** Yields each field next to the path of the reference, or in a parent of it, that seems to be the reference. */
function* misplacedFaults(change: ClusterChange, path: FieldPath): Iterable<Fault> {
  for (let depth = path.length - 1; depth >= 0; depth--) {
    const parent = path.slice(0, depth);
    const value = valueAt(change.object, parent);
    for (const name of isJsonObject(value) ? Object.keys(value) : []) {
      if (seemsReference(name)) yield unknownField(change, [...parent, name], path);
    }
  }
}

const LONGEST_NAME = 100;

/** No field of an object of CAPA has a name that starts with `identity`, except identityRef. */
function seemsReference(name: string): boolean {
  return /^identity/i.test(name) || closest(name.slice(0, LONGEST_NAME), ["identityRef"]) !== null;
}

/** A change of an object that refers to a CAPA identity, which the cluster checks examine. */
export interface ClusterChange extends ReferenceChange, UseChange {}

/** Returns the change, or null if objects of this kind do not refer to an identity. */
export function clusterChange(
  input: Pick<CheckInput, "access" | "object" | "old">, context: CheckContext,
): ClusterChange | null {
  const { object, old } = input;
  const referrer = readReferrer(object);
  if (referrer === null) return null;
  const resolution = resolveReferrer(context.inventory, referrer, context.settings);
  const stored = old === null ? null : readReferrer(old);
  return { ...context, ...useChange(input, context), object, referrer, resolution, stored };
}

/** Returns the identities that the changed object uses. */
export function useChange(
  { access = null, object, old }: Pick<CheckInput, "access" | "object" | "old">, context: CheckContext,
): UseChange {
  const { namespace } = objectReference(object);
  return { access, namespace, requester: context.requester, uses: () => identityUses(object, old, context) };
}
