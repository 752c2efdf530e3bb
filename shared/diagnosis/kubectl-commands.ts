import { type Edit, type ObjectName, patchOf } from "../core/repair.ts";
import { isSame, type JsonObject, plainKeys } from "../formats/json.ts";
import { objectReference } from "../formats/object-meta.ts";
import { shellWord, withInput } from "../formats/shell.ts";
import { isReplacement, type Located, type ObjectChange } from "./object-changes.ts";

/** The longest patch that is an argument. A longer one is the standard input of the command. */
const MAX_ARGUMENT = 400;

/** Returns the name of an object in commands of kubectl, such as `bucket.s3.services.k8s.aws/logs`. */
export function commandName(object: JsonObject): string {
  const { group, kind, name } = objectReference(object);
  return `${[kind.toLowerCase(), group].filter((part) => part !== "").join(".")}/${name}`;
}

/** Returns the name of an object as arguments of kubectl, with its namespace. */
export function commandTarget(object: JsonObject): string {
  const { namespace } = objectReference(object);
  return `${shellWord(commandName(object))}${namespace === "" ? "" : ` -n ${shellWord(namespace)}`}`;
}

/** Returns the command of kubectl that makes a change of one object of a cluster. */
export function kubectlCommand({ name, found, after, edits }: ObjectChange<Located>): string {
  const target = commandTarget(found?.object ?? asObject(name));
  if (after === null) return `kubectl delete ${target}`;
  if (found === null || edits.some(({ path }) => path.length === 0)) {
    // In one line, because a shell finds the end of several lines only if they are not indented.
    return `printf %s ${shellWord(JSON.stringify(after))} | kubectl ${found === null ? "create" : "replace"} -f -`;
  }
  return metadataCommand(target, edits) ?? patchCommand(target, found.object, { after, edits });
}

function asObject({ apiVersion, kind, namespace, name }: ObjectName): JsonObject {
  return { apiVersion, kind, metadata: namespace === null ? { name } : { name, namespace } };
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

function patchCommand(
  target: string, object: JsonObject, { after, edits }: { readonly after: JsonObject; readonly edits: readonly Edit[] },
): string {
  const patch = JSON.stringify(patchOf(object, edits));
  if (isReplacement(object, after)) {
    const local = `kubectl patch --local -f - --type=json -p ${shellWord(patch)} -o json`;
    return `kubectl get ${target} -o json | ${local} | kubectl replace --force -f -`;
  }
  const command = `kubectl patch ${target} --type=json`;
  if (patch.length <= MAX_ARGUMENT) return `${command} -p ${shellWord(patch)}`;
  return withInput(`${command} --patch-file /dev/stdin`, JSON.stringify(patchOf(object, edits), null, 2));
}
