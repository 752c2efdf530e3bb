import type { Finding } from "../../shared/checks/check.ts";
import { CONTROLLER_IDENTITY, CONTROLLER_IDENTITY_NAME } from "../../shared/contract/capa-kinds.ts";
import { SELECTOR_GROUP, SELECTOR_KIND } from "../../shared/contract/ack-groups.ts";
import { statusOf } from "../../shared/contract/ack-resource.ts";
import { REGION_ANNOTATION, RESOLUTION } from "../../shared/contract/annotation-keys.ts";
import { STDIN } from "../../shared/files/listing.ts";
import { namespaceOf } from "../../shared/files/object-key.ts";
import { accountOfARN } from "../../shared/formats/arn.ts";
import { type FieldPath, type JsonObject, stringAt } from "../../shared/formats/json.ts";
import { annotationAt, objectMeta, objectReference } from "../../shared/formats/object-meta.ts";
import { listOf } from "../../shared/formats/text.ts";
import type { SelectorExplanation } from "../../shared/resolution/explain.ts";
import { staleAnnotations } from "../../shared/resolution/resolution-annotations.ts";
import type { Resolution } from "../../shared/resolution/resolve.ts";
import { NAMESPACE_LABELS } from "../../shared/resolution/selector-conditions.ts";
import { placeAndName } from "../output/located-finding.ts";
import { commandName } from "./named-resource.ts";
import type { StateObject } from "./state.ts";

/** How to change what is wrong, and what replaces the texts of the finding. */
export interface Remedy extends Partial<Pick<Finding, "path" | "message" | "fix">> {
  /** A command, or the place to edit in a file. */
  readonly command: string;
}

/** Returns the labels with which the selector selects the resource; null if labels of one object are not enough. */
export function labeling(nearest: SelectorExplanation, resource: JsonObject): Remedy | null {
  const namespace = namespaceOf(resource);
  const failing = nearest.parts.filter(({ holds }) => !holds);
  const isOf = (path: string): boolean => (
    failing.every((part) => part.path.startsWith(`${path}.matchLabels[`) && SAFE_LABEL.test(part.wants))
  );
  const isOfNamespace = isOf(NAMESPACE_LABELS);
  if (!isOfNamespace && !isOf("spec.resourceLabelSelector")) return null;
  const [object, effect] = isOfNamespace
    ? [`namespace/${namespace}`, `all that ${nearest.selector} selects in ${namespace}`]
    : [target(resource), "the resource"];
  const replaced = failing.flatMap(({ carries }) => (carries.startsWith("no label") ? [] : [carries]));
  const change = replaced.length === 0 ? "set the labels" : `replace ${listOf(replaced)}`;
  const otherwise = replaced.length === 0 ? "" : `. If ${listOf(replaced)} is intended, create a selector for it`;
  return {
    fix: `if the role of ${nearest.selector} is intended, ${change}, which changes the role of ${effect}${
      consequence(resource, nearest)}${otherwise}`,
    command: `kubectl label${replaced.length === 0 ? "" : " --overwrite"} ${object} ${
      failing.map(({ wants }) => wants).join(" ")}`,
  };
}

/** Says what happens to a resource that exists in another account than the role of the selector. */
function consequence(resource: JsonObject, { roleARN }: SelectorExplanation): string {
  const { ownerAccountID } = statusOf(resource);
  if (ownerAccountID === null || roleARN === null || accountOfARN(roleARN) === ownerAccountID) return "";
  return `. Controllers would no longer reconcile the resource, which exists in account ${ownerAccountID}`;
}

export const HOW_TO_RESTRICT = "A selector selects what matches all of its fields, so add to one that is not meant "
  + "what keeps its role: namespaces in spec.namespaceSelector.names, or kinds in spec.resourceTypeSelector. That can "
  + "change the roles of other resources. If no selector is left, the controller's own role is used";

/**
 * Returns how a resource gets a role in its own account if its selector decides about other resources too. In the other
 * order, the controller would use its own role between the steps.
 */
export function narrowing(resource: JsonObject, { selectors }: Resolution): string {
  const { ownerAccountID } = statusOf(resource);
  const names = listOf(selectors.map(({ name }) => name));
  const account = `account ${ownerAccountID}`;
  return `if all that ${names} selects is in ${account}, change its role. Otherwise, label the others that it selects, `
    + `create a selector that selects this resource by another label, with a role in ${account}, and then limit `
    + `${names} to the label of the others. While two selectors select a resource, controllers leave it as it is`;
}

/** The API server does not validate the labels of selectors, and users copy commands into a shell. */
const SAFE_LABEL = /^[\w./-]+=[\w.-]*$/;

/** Returns how to create a selector: the one that selected the resource before, if annotations name it. */
export function newSelector(resource: JsonObject, namespace: string): Remedy {
  const [name, role] = (["selector", "roleARN"] as const).map((key) => annotationAt(resource, RESOLUTION[key]));
  const [selector, arn] = [name ?? namespace, role ?? "arn:aws:iam::ACCOUNT:role/NAME"];
  const manifest = {
    apiVersion: `${SELECTOR_GROUP}/v1alpha1`, kind: SELECTOR_KIND, metadata: { name: selector },
    spec: { arn, namespaceSelector: { names: [namespace] } },
  };
  const fix = role === null
    ? "unless the controller's own role is intended, create a selector, which gives its role to every resource of "
      + `namespace ${namespace}; replace ACCOUNT and NAME. Resources that exist in another account would no longer be `
      + `reconciled. \`ack-role-resolver trust policy ${
        SAFE_VALUE.test(selector) ? selector : "SELECTOR"}\` prints how the role must trust the controller`
    : "create the selector again, from its manifest if you have it. The command takes its name and its role from the "
      + `annotations of the resource, so compare them. It gives the role to every resource of namespace ${namespace}`;
  return { fix, command: creation(manifest) };
}

function creation(manifest: object): string {
  return `echo '${JSON.stringify(manifest).replaceAll("'", "")}' | kubectl create -f -`;
}

/** Returns how to create the identity that CAPA has if no other is named; null if the identity names another source. */
export function newSource(identity: JsonObject, resource: JsonObject): Remedy | null {
  const [kind, name] = ["kind", "name"].map((key) => stringAt(identity, "spec", "sourceIdentityRef", key));
  if (kind !== CONTROLLER_IDENTITY || name !== CONTROLLER_IDENTITY_NAME) return null;
  const { apiVersion } = identity;
  const spec = { allowedNamespaces: { list: [namespaceOf(resource)] } };
  return {
    fix: "create it, or correct the reference. Each identity of the chain must allow the namespace, which also lets "
      + "its clusters use the controller's own role",
    command: creation({ apiVersion, kind, metadata: { name }, spec }),
  };
}

/** Returns how to keep the resource in the region in which it exists. */
export function inItsRegion(resource: JsonObject): Remedy {
  const { region } = statusOf(resource);
  const object = target(resource);
  if (region === null || !SAFE_VALUE.test(region)) return { command: `kubectl edit ${object}` };
  return { command: `kubectl annotate --overwrite ${object} ${REGION_ANNOTATION}=${region}` };
}

/** Returns how to let the webhook update its annotations: a write that changes nothing else. */
export function refresh(object: JsonObject, resolution: Resolution): Remedy {
  const stale = [...staleAnnotations(objectMeta(object).annotations, resolution)];
  const [key, value] = stale.find(([, expected]) => expected === null || SAFE_VALUE.test(expected))
    ?? [RESOLUTION.reason, null];
  return {
    path: ["metadata"],
    message: "the annotations that state the selector and the role of the resource are out of date. Controllers do "
      + "not read them, and the role stays the same",
    fix: "wait until the webhook corrects them, or make it correct them now",
    command: `kubectl annotate --overwrite ${target(object)} ${value === null ? `${key}-` : `${key}=${value}`}`,
  };
}

const SAFE_VALUE = /^[\w./:@=+,-]+$/;

/** Returns the command that opens objects, or their places in files. */
export function edit(objects: readonly StateObject[], path: FieldPath = ["spec"]): string {
  const [first] = objects;
  if (first === undefined) return "";
  if (first.file === null) {
    const names = objects.slice(0, -1).map(({ object }) => `${commandName(object)} `);
    return `kubectl edit ${names.join("")}${target(objects.at(-1)?.object ?? {})}`;
  }
  const places = objects.map((one) => placeAndName(one, path)).map(({ file, line }) => (
    file === STDIN ? `line ${line} of standard input` : `${file}:${line}`
  ));
  return `edit ${places.join(" or ")}`;
}

function target(object: JsonObject): string {
  const { namespace } = objectReference(object);
  return `${commandName(object)}${namespace === "" ? "" : ` -n ${namespace}`}`;
}
