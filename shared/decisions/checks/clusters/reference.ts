import {
  CONTROLLER_IDENTITY, identityKindOf, IDENTITY_KINDS, ROLE_IDENTITY, STATIC_IDENTITY,
} from "../../identities/kinds.ts";
import { type Referrer, referrerPath } from "../../identities/referrer.ts";
import { type FieldPath, formatFieldPath, valueAt } from "../../kubernetes/field-path.ts";
import { isJsonObject, type JsonObject } from "../../kubernetes/json.ts";
import { describeValue } from "../../kubernetes/shape.ts";
import { closest, quote } from "../../kubernetes/text.ts";
import type { Fault, QuickCheck } from "../check.ts";
import type { ClusterChange } from "./change.ts";

export const AC_00: QuickCheck<ClusterChange> = {
  id: "AC-00",
  severity: "deny",
  waivable: false,
  reason: "The API server of CAPA rejects a reference whose kind is not an identity, or that has no name. It rejects "
    + "or prunes a reference in a field with another name: CAPA then uses its own credentials.",
  fix: `set identityRef to {kind: KIND, name: NAME}; KIND is ${CONTROLLER_IDENTITY}, ${STATIC_IDENTITY} or `
    + ROLE_IDENTITY,
  example: "kind: AWSCluster\nspec: {identityRef: {kind: AWSClusterIdentityIdentity, name: a}}",
  *find({ object, referrer }): Iterable<Fault> {
    const path = referrerPath(referrer);
    const reference = valueAt(object, path);
    if (referrer.written === null) yield* misplacedFaults(object, path);
    else if (isJsonObject(reference)) yield* referenceFaults(reference, referrer.written, path);
    else yield { path, message: `expected an object, not ${describeValue(reference)}` };
  },
};

function* referenceFaults(
  reference: JsonObject, { kind, name }: NonNullable<Referrer["written"]>, path: FieldPath,
): Iterable<Fault> {
  if (kind === "") yield missingFault(reference, "kind", path);
  else if (identityKindOf(kind) === null) yield { path: [...path, "kind"], message: kindFault(kind) };
  if (name === "") yield missingFault(reference, "name", path);
}

/** Returns the fault of a missing field, or of a field that has its name in another case. */
function missingFault(reference: JsonObject, name: "kind" | "name", path: FieldPath): Fault {
  const other = Object.keys(reference).find((key) => key !== name && key.toLowerCase() === name);
  if (other !== undefined) return unknownField([...path, other], other, name);
  return { path: [...path, name], message: `the ${name} of the identity is missing` };
}

function kindFault(kind: string): string {
  const meant = IDENTITY_KINDS.find((one) => one.toLowerCase() === kind.toLowerCase());
  const hint = meant === undefined ? "" : `; perhaps ${meant} was meant`;
  return `${quote(kind)} is not the kind of an identity${hint}`;
}

function unknownField(path: FieldPath, name: string, meant: string): Fault {
  return { path, message: `unknown field ${quote(name)}; perhaps ${meant} was meant` };
}

/** Yields each field next to the path of the reference, or in a parent of it, that seems to be the reference. */
function* misplacedFaults(object: JsonObject, path: FieldPath): Iterable<Fault> {
  const meant = formatFieldPath(path);
  for (let depth = path.length - 1; depth >= 0; depth--) {
    const parent = path.slice(0, depth);
    const value = valueAt(object, parent);
    for (const name of isJsonObject(value) ? Object.keys(value) : []) {
      if (seemsReference(name)) yield unknownField([...parent, name], name, meant);
    }
  }
}

const LONGEST_NAME = 100;

/** No field of an object of CAPA has a name that starts with `identity`, except identityRef. */
function seemsReference(name: string): boolean {
  return /^identity/i.test(name) || closest(name.slice(0, LONGEST_NAME), ["identityRef"]) !== null;
}
