import { isSelector } from "../../shared/core/ack-groups.ts";
import { type Edit, patchOf } from "../../shared/core/repair.ts";
import { objectText } from "../../shared/files/edit-yaml.ts";
import { isJsonObject, isSame, type JsonObject, plainKeys, valueAt } from "../../shared/formats/json.ts";
import { objectReference } from "../../shared/formats/object-meta.ts";
import { commandName } from "../input/named-resource.ts";
import { shellWord, withInput } from "./shell.ts";

/** The longest patch that is an argument. A longer one is the standard input of the command. */
const MAX_ARGUMENT = 200;

/** Returns the command of kubectl that makes the edits of one object. `object` is null if it does not exist yet. */
export function kubectlCommand(name: JsonObject, object: JsonObject | null, edits: readonly Edit[]): string {
  const whole = edits.find(({ path }) => path.length === 0);
  const { namespace } = objectReference(name);
  const target = `${shellWord(commandName(name))}${namespace === "" ? "" : ` -n ${shellWord(namespace)}`}`;
  if (whole !== undefined && whole.value === undefined) return `kubectl delete ${target}`;
  if (whole !== undefined && isJsonObject(whole.value)) {
    const verb = object === null ? "create" : "replace";
    return withInput(`kubectl ${verb} -f -`, objectText(whole.value));
  }
  return metadataCommand(target, edits) ?? patchCommand(target, object, edits);
}

/** The commands that set the fields of these parents. */
const METADATA = [["label", ["metadata", "labels"]], ["annotate", ["metadata", "annotations"]]] as const;

/** Returns the command that sets labels or annotations; null if other edits are needed. */
function metadataCommand(target: string, edits: readonly Edit[]): string | null {
  for (const [verb, parent] of METADATA) {
    const words = edits.map((edit) => metadataWord(edit, parent));
    if (!words.includes(null)) {
      const overwrite = edits.some(({ value }) => value !== undefined) ? " --overwrite" : "";
      return `kubectl ${verb} ${target} ${words.join(" ")}${overwrite}`;
    }
  }
  return null;
}

/** Returns `KEY=VALUE`, or `KEY-` to remove a label; null for other edits. */
function metadataWord({ path, value = null }: Edit, parent: readonly string[]): string | null {
  const keys = plainKeys(path);
  const key = String(keys.at(-1));
  if (!isSame(keys.slice(0, -1), parent) || !/^\w[\w./-]*$/.test(key)) return null;
  if (value === null) return `${key}-`;
  return typeof value === "string" ? shellWord(`${key}=${value}`) : null;
}

function patchCommand(target: string, object: JsonObject | null, edits: readonly Edit[]): string {
  const patch = JSON.stringify(patchOf(object, edits));
  if (changesImmutable(object, edits)) {
    const local = `kubectl patch --local -f - --type=json -p ${shellWord(patch)} -o json`;
    return `kubectl get ${target} -o json | ${local} | kubectl replace --force -f -`;
  }
  const command = `kubectl patch ${target} --type=json`;
  if (patch.length <= MAX_ARGUMENT) return `${command} -p ${shellWord(patch)}`;
  return withInput(`${command} --patch-file /dev/stdin`, JSON.stringify(patchOf(object, edits), null, 2));
}

const ARN = ["spec", "arn"];

/** Whether the API server rejects the edits of a stored selector, because a rule of its CRD forbids another ARN. */
function changesImmutable(object: JsonObject | null, edits: readonly Edit[]): boolean {
  if (object === null || !isSelector(object) || valueAt(object, ARN) === undefined) return false;
  return edits.some(({ path }) => isSame(plainKeys(path), ARN.slice(0, path.length)));
}
