import { field, isJsonObject, stringAt } from "../formats/json.ts";
import { kindOfARN, arnIn } from "./iam-reader.ts";
import type { HolderKind, Subject } from "./iam-objects.ts";
import { unresolved, unresolvedName } from "./unresolved-values.ts";

/** The resources that have an ARN, with the property that is their name. */
export const NAMED: ReadonlyMap<string, { readonly kind: HolderKind | "policy"; readonly property: string }> = new Map([
  ["AWS::IAM::Role", { kind: "role", property: "RoleName" }],
  ["AWS::IAM::User", { kind: "user", property: "UserName" }],
  ["AWS::IAM::Group", { kind: "group", property: "GroupName" }],
  ["AWS::IAM::ManagedPolicy", { kind: "policy", property: "ManagedPolicyName" }],
]);

/** `AWS::NoValue` removes its property or item. */
const NO_VALUE = undefined;
/** A document has fewer. */
const MAX_CHARACTERS = 131_072;

/**
 * Returns the values of a template without its functions. What depends on a parameter, a condition or a resource that
 * has no name is unresolved. Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/intrinsic-function-reference.html
 */
export class TemplateValues {
  readonly #resources: unknown;
  readonly #subject: Subject | null;
  /** The values of pseudo parameters. */
  readonly #given: ReadonlyMap<string, string>;
  /** The names and ARNs of resources. Null for one that is being resolved, because references can form a cycle. */
  readonly #names = new Map<string, string | null>();
  readonly #arns = new Map<string, string | null>();

  constructor(resources: unknown, subject: Subject | null) {
    this.#resources = resources;
    this.#subject = subject;
    this.#given = new Map(subject === null ? [] : [
      ["AWS::AccountId", subject.accountID], ["AWS::Partition", subject.partition],
    ]);
  }

  /** Returns undefined for `AWS::NoValue`. The depth of the recursion is that of the parsed file. */
  resolve(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((item) => this.resolve(item)).filter((item) => item !== NO_VALUE);
    if (!isJsonObject(value)) return value;
    const [[name, argument] = ["", null], ...others] = Object.entries(value);
    if (others.length === 0 && (name === "Ref" || name.startsWith("Fn::"))) return this.#valueOf(name, argument);
    // It adds fields to those beside it.
    if (Object.hasOwn(value, "Fn::Transform")) return unresolved("Fn::Transform");
    const fields = Object.entries(value).map(([key, item]) => [key, this.resolve(item)] as const);
    return Object.fromEntries(fields.filter(([, item]) => item !== NO_VALUE));
  }

  /** Returns the ARN of a resource of IAM, or null if the template does not state its name. */
  arnOf(logicalID: string): string | null {
    return once(this.#arns, logicalID, () => {
      const resource = field(this.#resources, logicalID);
      const named = NAMED.get(stringAt(resource, "Type") ?? "");
      const name = this.nameOf(logicalID);
      const path = this.property(resource, "Path") ?? "/";
      if (named === undefined || name === null || typeof path !== "string" || this.#subject === null) return null;
      return arnIn(this.#subject, named.kind, path, name);
    });
  }

  /** Returns the name of a role, user, group or policy, or null if CloudFormation generates it. */
  nameOf(logicalID: string): string | null {
    return once(this.#names, logicalID, () => {
      const resource = field(this.#resources, logicalID);
      const property = NAMED.get(stringAt(resource, "Type") ?? "")?.property;
      const name = property === undefined ? null : this.property(resource, property);
      return typeof name === "string" ? name : null;
    });
  }

  property(resource: unknown, name: string): unknown {
    const properties = field(resource, "Properties");
    if (field(properties, "Fn::Transform") !== undefined) return unresolved("Fn::Transform");
    return this.resolve(field(properties, name));
  }

  #valueOf(name: string, argument: unknown): unknown {
    if (name === "Ref" && typeof argument === "string") return this.#reference(argument);
    if (name === "Fn::GetAtt") return this.#attribute(argument);
    if (name === "Fn::Sub") return this.#substitute(argument);
    if (name === "Fn::Join") return this.#join(argument);
    const [first] = itemsOf(argument);
    return unresolved(typeof first === "string" ? `${name} ${first}` : name);
  }

  #reference(name: string): unknown {
    if (name === "AWS::NoValue") return NO_VALUE;
    const given = this.#given.get(name);
    if (given !== undefined) return given;
    const arn = this.arnOf(name);
    const value = arn !== null && kindOfARN(arn) === "policy" ? arn : this.nameOf(name);
    return value ?? unresolved(`Ref ${name}`);
  }

  /** The argument is a list, or a text such as `Role.Arn`. */
  #attribute(argument: unknown): unknown {
    const text = Array.isArray(argument) ? argument.map(String).join(".") : String(argument);
    const [logicalID = "", attribute] = text.split(".");
    return (attribute === "Arn" ? this.arnOf(logicalID) : null) ?? unresolved(`Fn::GetAtt ${text}`);
  }

  /** The argument is a text, or a list of a text and the values of its own variables. */
  #substitute(argument: unknown): unknown {
    const [template, variables] = itemsOf(argument);
    if (typeof template !== "string") return unresolved("Fn::Sub");
    // Resolves each variable once: a variable of a variable, each used twice, would double the work at each level.
    const values = new Map<string, unknown>();
    const parts = template.split(/(\$\{[^${}]*\})/).map((part): unknown => {
      if (!part.startsWith("${") || !part.endsWith("}")) return part;
      const name = part.slice(2, -1).trim();
      if (name.startsWith("!")) return `\${${name.slice(1)}}`;
      const own = field(variables, name);
      if (own !== undefined && !values.has(name)) values.set(name, this.resolve(own));
      if (own !== undefined) return values.get(name);
      return name.includes(".") ? this.#attribute(name) : this.#reference(name);
    });
    return joined(parts, "");
  }

  #join(argument: unknown): unknown {
    const [separator, list] = itemsOf(argument);
    const items = this.resolve(list);
    if (typeof separator !== "string" || !Array.isArray(items)) return unresolved("Fn::Join");
    return joined(items, separator);
  }
}

function itemsOf(argument: unknown): readonly unknown[] {
  return Array.isArray(argument) ? argument : [argument];
}

function once(known: Map<string, string | null>, key: string, compute: () => string | null): string | null {
  const found = known.get(key);
  if (found !== undefined) return found;
  known.set(key, null);
  const value = compute();
  known.set(key, value);
  return value;
}

/** Returns the text of texts, or the first value that is not resolved. */
function joined(parts: readonly unknown[], separator: string): unknown {
  const texts = parts.filter((part) => typeof part !== "object").map(String);
  const length = texts.reduce((sum, text) => sum + text.length + separator.length, 0);
  if (length > MAX_CHARACTERS) return unresolved(`a text of more than ${MAX_CHARACTERS} characters`);
  if (texts.length === parts.length) return texts.join(separator);
  return parts.find((part) => unresolvedName(part) !== null) ?? unresolved("a text");
}
