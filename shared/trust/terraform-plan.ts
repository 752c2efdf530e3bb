import { field, isJsonObject, type JsonObject, stringAt } from "../formats/json.ts";
import { listAt } from "./iam-reader.ts";
import { unresolved, unresolvedName } from "./unresolved-values.ts";

/** A resource of IAM in a state or in a plan. */
export interface TerraformResource {
  /** Such as `module.team["a"].aws_iam_role.app[0]`. */
  readonly address: string;
  readonly type: string;
  readonly isManaged: boolean;
  readonly values: JsonObject;
  /** The values that are known after apply: true, or an object or list of such values. */
  readonly unknown: unknown;
}

/** What Terraform may have failed to write when it marks a resource as tainted. */
const CONTENTS = [
  "assume_role_policy", "inline_policy", "managed_policy_arns", "permissions_boundary", "policy", "policy_arn",
  "tags_all", "groups",
];
const TAINTED = Object.fromEntries(CONTENTS.map((name) => [name, true]));

/** Returns the unknown values of a resource of a state, as in a plan. */
export function unknownOf(resource: unknown): unknown {
  return field(resource, "tainted") === true ? TAINTED : null;
}

/** Returns the resource of an object with the values and the unknown values. Returns null if it is not one of IAM. */
export function resourceOf(object: unknown, values: unknown, unknown: unknown): TerraformResource | null {
  const type = stringAt(object, "type") ?? "";
  const address = stringAt(object, "address");
  if (!type.startsWith("aws_iam_") || address === null || !isJsonObject(values)) return null;
  return { address, type, isManaged: stringAt(object, "mode") !== "data", values, unknown };
}

/** Returns the name of the object, or "" if it is known after apply. */
export function nameIn({ values }: TerraformResource): string {
  return stringAt(values, "name") ?? "";
}

/** Matches the index of an instance. */
const INDEX = /\[(?:"(?:[^"\\]|\\.)*"|[0-9]+)\]/g;

/** Matches the modules of an address. */
const MODULES = /^(?:module\.[^.]+\.)*/;
const MODULE_INSTANCES = /^(?:module\.[^.[]+(?:\[(?:"(?:[^"\\]|\\.)*"|[0-9]+)\])?\.)*/;

/** The expressions of a configuration by address, without the indexes of instances. */
export class TerraformConfiguration {
  readonly #expressions = new Map<string, unknown>();

  constructor(configuration: unknown) {
    const open = [{ prefix: "", module: field(configuration, "root_module") }];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const { prefix, module } = next;
      for (const resource of listAt(module, "resources")) {
        const address = stringAt(resource, "address");
        if (address !== null) this.#expressions.set(`${prefix}${address}`, field(resource, "expressions"));
      }
      const calls = field(module, "module_calls");
      for (const [name, call] of Object.entries(isJsonObject(calls) ? calls : {})) {
        open.push({ prefix: `${prefix}module.${name}.`, module: field(call, "module") });
      }
    }
  }

  /**
   * Returns the value of an attribute: unresolved if it is known after apply, null if it is not set. Terraform also
   * marks attributes as unknown that are not set, because the provider reads them after apply. A block of which only a
   * part is unknown is set, although dynamic blocks have no expression.
   */
  value({ address, values, unknown }: TerraformResource, name: string): unknown {
    const part = field(unknown, name);
    if (!isUnknown(part)) return field(values, name) ?? null;
    const expressions = this.#expressions.get(plainAddress(address));
    if (part === true && isJsonObject(expressions) && !Object.hasOwn(expressions, name)) return null;
    return unresolved(`${address}.${name}, which is known after apply`);
  }

  /** Whether an attribute has an expression. The blocks of a dynamic block have none. */
  has({ address }: TerraformResource, name: string): boolean {
    return field(this.#expressions.get(plainAddress(address)), name) !== undefined;
  }

  /** Returns the addresses of the resources to which an attribute may refer, without the indexes of instances. */
  references({ address }: TerraformResource, name: string): string[] {
    const plain = plainAddress(address);
    const modules = plain.slice(0, plain.length - plain.replace(MODULES, "").length);
    return this.#referencesOf(plain, name).map((text) => `${modules}${text.replaceAll(INDEX, "")}`);
  }

  /** Returns the addresses of the instances that an attribute names with their index. */
  instances({ address }: TerraformResource, name: string): string[] {
    const modules = address.slice(0, address.length - address.replace(MODULE_INSTANCES, "").length);
    const named = this.#referencesOf(plainAddress(address), name).filter((text) => text.endsWith("]"));
    return named.map((text) => `${modules}${text}`);
  }

  #referencesOf(plain: string, name: string): readonly string[] {
    return listAt(field(this.#expressions.get(plain), name), "references").filter((item) => typeof item === "string");
  }
}

export function plainAddress(address: string): string {
  return address.replaceAll(INDEX, "");
}

/** Returns the indexes in an address, which an instance has in common with the one that it refers to. */
export function indexesOf(address: string): string {
  return (address.match(INDEX) ?? []).join("");
}

/** Whether a value contains an unknown value. The depth of the recursion is that of the parsed file. */
function isUnknown(unknown: unknown): boolean {
  if (typeof unknown !== "object" || unknown === null) return unknown === true;
  return Object.values(unknown).some(isUnknown);
}

/** Returns a text, or null for a value of another type, also one that is not resolved. */
export function knownText(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

/** Returns the texts of a list, or null if the list is not resolved. */
export function knownTexts(value: unknown): readonly string[] | null {
  if (unresolvedName(value) !== null) return null;
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}
