import type { Resolution } from "../../shared/core/resolution.ts";
import type { Finding } from "../../shared/core/check.ts";
import { CONTROLLER_IDENTITY, CONTROLLER_IDENTITY_NAME } from "../../shared/core/capa-kinds.ts";
import { SELECTOR_GROUP, SELECTOR_KIND } from "../../shared/core/ack-groups.ts";
import { statusOf } from "../../shared/core/ack-resource.ts";
import { REGION_ANNOTATION, REPLACES_ANNOTATION, RESOLUTION } from "../../shared/core/annotation-keys.ts";
import { STDIN } from "../../shared/files/listing.ts";
import { namespaceOf } from "../../shared/files/object-key.ts";
import { accountOfARN } from "../../shared/formats/arn.ts";
import { type FieldPath, type JsonObject, stringAt } from "../../shared/formats/json.ts";
import { annotationAt, objectMeta, objectReference } from "../../shared/formats/object-meta.ts";
import { listOf } from "../../shared/formats/text.ts";
import type { SelectorExplanation } from "../../shared/diagnosis/explain.ts";
import { staleAnnotations } from "../../shared/core/resolution-annotations.ts";
import { NAMESPACE_LABELS } from "../../shared/ack/selector-conditions.ts";
import { placeAndName } from "../output/located-finding.ts";
import { commandName } from "./named-resource.ts";
import type { StateObject } from "./state.ts";

/** A step, or one of several ways, to change what is wrong. */
export interface Way {
  /** When to take the way, such as `to keep team-a`; null if it is the only one. */
  readonly when: string | null;
  /** A command, or the place to edit in a file. */
  readonly command: string;
}

/** How to change what is wrong, and what replaces the texts of the finding. */
export interface Remedy extends Partial<Pick<Finding, "path" | "message" | "fix">> {
  readonly ways: readonly Way[];
}

function only(command: string): readonly Way[] {
  return [{ when: null, command }];
}

const UNLESS_OWN = "if the controller's own role is intended, do nothing";

/** Returns the labels with which the selector selects the resource; null if labels of one object are not enough. */
export function labeling(nearest: SelectorExplanation, resource: JsonObject): Remedy | null {
  const namespace = namespaceOf(resource);
  const failing = nearest.parts.filter(({ holds }) => !holds);
  const isOf = (path: string): boolean => (
    failing.every((part) => part.path.startsWith(`${path}.matchLabels[`) && SAFE_LABEL.test(part.wants))
  );
  const isOfNamespace = isOf(NAMESPACE_LABELS);
  if (!isOfNamespace && !isOf("spec.resourceLabelSelector")) return null;
  const replaced = failing.flatMap(({ carries }) => (carries.startsWith("no label") ? [] : [carries]));
  const subject = isOfNamespace ? `namespace ${namespace}` : "the resource";
  const [gains, object] = isOfNamespace
    ? [`all that ${nearest.selector} then selects in it gets that role`, `namespace/${namespace}`]
    : ["it then gets that role", target(resource)];
  const otherwise = replaced.length === 0 ? ""
    : `. If ${listOf(replaced)} should stay, but not the controller's own role, create a selector for that`;
  return {
    fix: `${UNLESS_OWN}. If the role of ${nearest.selector} is intended, ${
      replaced.length === 0 ? "label" : "relabel"} ${subject}: ${gains}${consequence(resource, nearest)}${otherwise}`,
    ways: only(`kubectl label${replaced.length === 0 ? "" : " --overwrite"} ${object} ${
      failing.map(({ wants }) => wants).join(" ")}`),
  };
}

/** Says what happens to a resource whose status records another account than that of the selector's role. */
function consequence(resource: JsonObject, { roleARN }: SelectorExplanation): string {
  const { ownerAccountID } = statusOf(resource);
  if (ownerAccountID === null || roleARN === null || accountOfARN(roleARN) === ownerAccountID) return "";
  return `. Controllers would no longer reconcile the resource, whose status records account ${ownerAccountID}`;
}

/** The number of selectors in conflict for which each choice is a way. */
const MAX_CHOICES = 3;

/** Returns how one of several selectors keeps the resource. */
export function keepingOne(selectors: readonly StateObject[], fix: string): Remedy {
  const names = selectors.map(({ object }) => objectReference(object).name);
  const choices = selectors.map((kept, i): Way => ({
    when: `${i === 0 ? "" : "or "}to keep ${names[i]}`, command: edit(selectors.filter((one) => one !== kept)),
  }));
  return {
    fix: `${fix}. To restrict a selector, list what keeps its role: namespaces in spec.namespaceSelector.names, or `
      + "kinds in spec.resourceTypeSelector. What it no longer selects gets the controller's own role, unless another "
      + "selector selects it",
    ways: selectors.length > 1 && selectors.length <= MAX_CHOICES ? choices : edits(selectors),
  };
}

/** Returns how a resource gets a role in its own account if its selector decides about other resources too. */
export function moving(selector: StateObject, resource: JsonObject): Remedy {
  const { name } = objectReference(selector.object);
  const same = `if all are in account ${statusOf(resource).ownerAccountID}`;
  const fix = `decide by the accounts of all resources that ${name} selects. If they differ, label each one with its `
    + `account, create a selector for each label, with the annotation ${REPLACES_ANNOTATION}: ${name}, and then delete `
    + `${name}. New resources then need a label too`;
  if (selector.file !== null) return { fix, ways: [{ when: `${same}, change its role`, command: edit([selector]) }] };
  return {
    fix, ways: [
      { when: "to see them", command: `ack-role-resolver resolve --cluster --only selector=${name} --explain` },
      { when: `${same}, replace ${name}: ${HOW_TO_REPLACE} ${name}`, command: replacement(selector.object) },
    ],
  };
}

const HOW_TO_REPLACE = "in the editor, change its name and its role, and add the annotation "
  + `${REPLACES_ANNOTATION}:`;

/** Returns how a stored selector gets another role. The API server rejects a change of its role. */
export function withOtherRole({ object }: StateObject, fix: string, isMalformed: boolean): Remedy {
  const { name } = objectReference(object);
  const immutable = `${fix}. The API server rejects a change of spec.arn, so`;
  if (!isMalformed) {
    return {
      fix: `${immutable} replace the selector: ${HOW_TO_REPLACE} ${name}`, ways: only(replacement(object)),
    };
  }
  const file = `${name}.replacement.yaml`;
  return {
    fix: `${immutable} delete the selector, which has no effect now, and create it again with the right role. All that `
      + "it selects then gets that role",
    ways: only(`kubectl get ${target(object)} -o yaml > ${file} && \${EDITOR:-vi} ${file} && `
      + `kubectl replace --force -f ${file}`),
  };
}

/** Returns a command that creates a selector from another one, which it then deletes. */
function replacement(object: JsonObject): string {
  const file = `${objectReference(object).name}.replacement.yaml`;
  // An object that is created cannot have these fields.
  return `kubectl get ${target(object)} -o yaml | grep -vE '^  (uid|resourceVersion):' > ${file} && \${EDITOR:-vi} ${
    file} && kubectl create -f ${file} && kubectl delete ${target(object)}`;
}

/** The API server does not validate the labels of selectors, and users copy commands into a shell. */
const SAFE_LABEL = /^\w[\w./-]*=[\w.-]*$/;

/** Returns how to create a selector: the one that selected the resource before, if annotations name it. */
export function newSelector(resource: JsonObject, namespace: string): Remedy {
  const [name, role] = (["selector", "roleARN"] as const).map((key) => annotationAt(resource, RESOLUTION[key]));
  const [selector, arn] = [name ?? namespace, role ?? "arn:aws:iam::ACCOUNT:role/NAME"];
  const ofAll = `every resource of namespace ${namespace}`;
  const command = creation(manifestOf({ name: selector }, { arn, namespaceSelector: { names: [namespace] } }));
  if (role !== null) {
    return {
      fix: "create the selector again. Apply its manifest if you have it. Otherwise, check the name and the role in "
        + "the command: they are from the annotations of the resource, which everyone who can change it can write. The "
        + `command gives the role to ${ofAll}`,
      ways: only(command),
    };
  }
  return {
    fix: `${UNLESS_OWN}. Otherwise, create a selector. It gives its role to ${ofAll}, and controllers no longer `
      + `reconcile those that exist in another account than its role. Then \`ack-role-resolver trust policy ${
        SAFE_VALUE.test(selector) ? selector : "SELECTOR"}\` prints how the role must trust the controller`,
    ways: [{ when: "replace ACCOUNT and NAME", command }],
  };
}

function manifestOf(metadata: object, spec: object): object {
  return { apiVersion: `${SELECTOR_GROUP}/v1alpha1`, kind: SELECTOR_KIND, metadata, spec };
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
    fix: "create it, or correct the reference. Each identity of the chain must allow the namespace. Clusters in the "
      + "namespace can then also use the controller's own role directly",
    ways: only(creation({ apiVersion, kind, metadata: { name }, spec })),
  };
}

/** Returns how to keep the resource in the region in which it exists. */
export function inItsRegion(resource: JsonObject): Remedy {
  const { region } = statusOf(resource);
  const object = target(resource);
  if (region === null || !SAFE_VALUE.test(region)) return { ways: only(`kubectl edit ${object}`) };
  return { ways: only(`kubectl annotate --overwrite ${object} ${REGION_ANNOTATION}=${region}`) };
}

/** Returns how to let the webhook update its annotations: a write that changes nothing else. */
export function refresh(object: JsonObject, resolution: Resolution): Remedy {
  const stale = [...staleAnnotations(objectMeta(object).annotations, resolution)];
  const [key, value] = stale.find(([, expected]) => expected === null || SAFE_VALUE.test(expected))
    ?? [RESOLUTION.reason, null];
  return {
    path: ["metadata"],
    message: "the annotations that state the selector and the role of the resource are out of date. This is harmless: "
      + "controllers do not read them",
    fix: "wait until the webhook corrects all of them, or write one of them, so that it corrects the others now",
    ways: only(`kubectl annotate --overwrite ${target(object)} ${value === null ? `${key}-` : `${key}=${value}`}`),
  };
}

const SAFE_VALUE = /^\w[\w./:@=+,-]*$/;

/** Returns a way to change each object, of which the user chooses one. */
export function edits(objects: readonly StateObject[], path: FieldPath = ["spec"]): readonly Way[] {
  return objects.map((one, i) => {
    const { kind, name } = objectReference(one.object);
    const when = objects.length === 1 ? null : `${i === 0 ? "" : "or "}to change ${kind} ${name}`;
    return { when, command: edit([one], path) };
  });
}

/** Returns the command that opens objects, or their places in files. */
function edit(objects: readonly StateObject[], path: FieldPath = ["spec"]): string {
  const [first] = objects;
  if (first === undefined) return "";
  if (first.file === null) {
    const names = objects.slice(0, -1).map(({ object }) => `${commandName(object)} `);
    return `kubectl edit ${names.join("")}${target(objects.at(-1)?.object ?? {})}`;
  }
  const places = objects.map((one) => placeAndName(one, path)).map(({ file, line }) => (
    file === STDIN ? `line ${line} of standard input` : `${file}:${line}`
  ));
  return `edit ${places.join(" and ")}`;
}

function target(object: JsonObject): string {
  const { namespace } = objectReference(object);
  return `${commandName(object)}${namespace === "" ? "" : ` -n ${namespace}`}`;
}
