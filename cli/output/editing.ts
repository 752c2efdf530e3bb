import { SELECTOR_GROUP, SELECTOR_KIND } from "../../shared/core/ack-groups.ts";
import { REPLACES_ANNOTATION } from "../../shared/core/annotation-keys.ts";
import type { Finding } from "../../shared/core/check.ts";
import { STDIN } from "../../shared/files/listing.ts";
import { type FieldPath, formatFieldPath, type JsonObject } from "../../shared/formats/json.ts";
import { namespaceOrDefault, objectReference } from "../../shared/formats/object-meta.ts";
import { commandName } from "../input/named-resource.ts";
import type { StateObject } from "../input/state.ts";
import { placeAndName } from "./located-finding.ts";

// What a user types where only a person can know the value: a command that opens the object, or its place in a file.

/** A command, and when to choose it. */
export interface Way {
  /** Null if it is the only one. */
  readonly when: string | null;
  readonly command: string;
}

/** Returns how to edit what a finding is about that has no repair. `isIgnored`: controllers ignore the selector. */
export function editingWays(
  finding: Pick<Finding, "section" | "path">, one: StateObject, isIgnored: boolean,
): readonly Way[] {
  const { path, section } = finding;
  if (section === "onDefault") return [newSelector(namespaceOrDefault(objectReference(one.object).namespace))];
  const isRole = objectReference(one.object).kind === SELECTOR_KIND && formatFieldPath(path) === "spec.arn";
  return isRole && one.file === null ? [otherRole(one.object, isIgnored)] : [{ when: null, command: edit(one, path) }];
}

/** The template of a selector that gives its role to a namespace. */
function newSelector(namespace: string): Way {
  const manifest = JSON.stringify({
    apiVersion: `${SELECTOR_GROUP}/v1alpha1`, kind: SELECTOR_KIND, metadata: { name: namespace },
    spec: { arn: "arn:aws:iam::ACCOUNT:role/NAME", namespaceSelector: { names: [namespace] } },
  });
  const command = `echo '${manifest.replaceAll("'", "")}' | kubectl create -f -`;
  return { when: `to give every resource of namespace ${namespace} a role, replace ACCOUNT and NAME`, command };
}

/** The API server rejects a change of the role of a stored selector, so another selector replaces it. */
function otherRole(object: JsonObject, isIgnored: boolean): Way {
  const { name } = objectReference(object);
  const [file, selector] = [`${name}.replacement.yaml`, commandName(object)];
  const editor = `\${EDITOR:-vi} ${file}`;
  if (isIgnored) {
    const command = `kubectl get ${selector} -o yaml > ${file} && ${editor} && kubectl replace --force -f ${file}`;
    return { when: "correct the role in the editor", command };
  }
  // An object that is created cannot have these fields.
  const copy = `kubectl get ${selector} -o yaml | grep -vE '^  (uid|resourceVersion):' > ${file}`;
  return {
    when: `in the editor, correct the role, change the name, and add the annotation ${REPLACES_ANNOTATION}: ${name}`,
    command: `${copy} && ${editor} && kubectl create -f ${file} && kubectl delete ${selector}`,
  };
}

/** Returns the command that opens the object, or its place in a file. */
function edit(one: StateObject, path: FieldPath): string {
  if (one.file === null) {
    const { namespace } = objectReference(one.object);
    return `kubectl edit ${commandName(one.object)}${namespace === "" ? "" : ` -n ${namespace}`}`;
  }
  const { file, line } = placeAndName(one, path);
  return file === STDIN ? `edit line ${line} of standard input` : `edit ${file}:${line}`;
}
