import { SELECTOR_GROUP, SELECTOR_KIND } from "../../shared/core/ack-groups.ts";
import { REPLACES_ANNOTATION } from "../../shared/core/annotation-keys.ts";
import type { Cause } from "../../shared/diagnosis/diagnosis.ts";
import { STDIN } from "../../shared/files/listing.ts";
import { type FieldPath, formatFieldPath, type JsonObject } from "../../shared/formats/json.ts";
import { shellWord } from "../../shared/formats/shell.ts";
import { namespaceOrDefault, objectReference } from "../../shared/formats/object-meta.ts";
import { commandName, commandTarget } from "../../shared/diagnosis/kubectl-commands.ts";
import type { StateObject } from "../input/state.ts";
import { placeAndName } from "./located-finding.ts";

// What a user types where only a person can know the value: a command that opens the object, or its place in a file.

/** A command, and when to choose it. */
export interface Way {
  /** Null if it is the only one. */
  readonly when: string | null;
  readonly command: string;
}

/** Returns how to edit what a cause without repairs is about. `isIgnored`: whether controllers ignore a selector. */
export function editingWays(
  { found, finding: { path, section }, toChange }: Cause<StateObject>, isIgnored: boolean,
): readonly Way[] {
  const { kind, namespace } = objectReference(found.object);
  // With CARM maps, the Namespace chooses the role.
  if (section === "onDefault" && toChange[0] === found) return [newSelector(namespaceOrDefault(namespace))];
  const isRole = kind === SELECTOR_KIND && formatFieldPath(path) === "spec.arn";
  if (isRole && found.file === null) return [otherRole(found.object, isIgnored)];
  return toChange.map((one, i) => {
    const { kind: other, name } = objectReference(one.object);
    const when = toChange.length === 1 ? null : `${i === 0 ? "" : "or "}to change ${other} ${name}`;
    return { when, command: edit(one, one === found ? path : ["spec"]) };
  });
}

/** The template of a selector that gives its role to a namespace. */
function newSelector(namespace: string): Way {
  const manifest = JSON.stringify({
    apiVersion: `${SELECTOR_GROUP}/v1alpha1`, kind: SELECTOR_KIND, metadata: { name: namespace },
    spec: { arn: "arn:aws:iam::ACCOUNT:role/NAME", namespaceSelector: { names: [namespace] } },
  });
  const command = `printf %s ${shellWord(manifest)} | kubectl create -f -`;
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
  if (one.file === null) return `kubectl edit ${commandTarget(one.object)}`;
  const { file, line } = placeAndName(one, path);
  return file === STDIN ? `edit line ${line} of standard input` : `\${EDITOR:-vi} +${line} ${shellWord(String(file))}`;
}
