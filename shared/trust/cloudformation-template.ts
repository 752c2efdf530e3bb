import { field, isJsonObject, stringAt } from "../formats/json.ts";
import { quote } from "../formats/text.ts";
import { NAMED, TemplateValues } from "./cloudformation-functions.ts";
import {
  type DocumentText, EVERY_GAP, type Gap, type GapPart, type HolderKind, type IAMObject, type InlinePolicy,
  type ObjectPart,
} from "./iam-objects.ts";
import { arnIn, gapsOf, type IAMReader, type ReaderContext, tagsOf } from "./iam-reader.ts";
import type { JSONElement } from "./json-elements.ts";
import { unresolved, unresolvedName } from "./unresolved-values.ts";

/** Reads a CloudFormation template. Its account is known only if the user states it. */
export class CloudFormationTemplate implements IAMReader {
  readonly #context: ReaderContext;
  readonly #files: readonly string[];
  #resources: unknown = null;

  constructor(context: ReaderContext) {
    this.#context = context;
    this.#files = [context.file];
  }

  add({ key, index, value }: JSONElement): void {
    if (key === "Transform") checkTransform(value);
    if (key !== "Resources" || index !== null) return;
    if (this.#resources !== null) throw new Error("Resources is defined twice; pass one file for each template");
    this.#resources = value;
  }

  finish(): void {
    if (!isJsonObject(this.#resources)) throw new Error("Resources is not an object");
    const values = new TemplateValues(this.#resources, this.#context.subject);
    for (const [logicalID, resource] of Object.entries(this.#resources)) {
      new ResourceReader(this.#context, this.#files, values).read(logicalID, resource);
    }
  }
}

/** Throws an Error for a macro of the user, which can change every resource. Those of AWS add resources. */
function checkTransform(value: unknown): void {
  const names: readonly unknown[] = Array.isArray(value) ? value : [value];
  const macro = names.find((name) => typeof name !== "string" || !name.startsWith("AWS::"));
  if (macro === undefined) return;
  const name = quote(typeof macro === "string" ? macro : stringAt(macro, "Name") ?? "");
  throw new Error(`the macro ${name} can change every resource; pass the processed template, as `
    + "aws cloudformation get-template --template-stage Processed prints it");
}

/** The properties that name the holders of a policy. */
const HOLDERS: readonly (readonly [kind: HolderKind, properties: readonly string[]])[] = [
  ["role", ["RoleName", "Roles"]], ["user", ["UserName", "Users"]], ["group", ["GroupName", "Groups"]],
];
const INLINE: ReadonlySet<string> = new Set([
  "AWS::IAM::Policy", "AWS::IAM::RolePolicy", "AWS::IAM::UserPolicy", "AWS::IAM::GroupPolicy",
]);

/** Returns an unresolved value for a resource that exists only under a condition, else null. */
function conditionOf(resource: unknown): unknown {
  const condition = stringAt(resource, "Condition");
  return condition === null ? null : unresolved(`Condition ${condition}`);
}

class ResourceReader {
  readonly #context: ReaderContext;
  readonly #files: readonly string[];
  readonly #values: TemplateValues;

  constructor(context: ReaderContext, files: readonly string[], values: TemplateValues) {
    this.#context = context;
    this.#files = files;
    this.#values = values;
  }

  read(logicalID: string, resource: unknown): void {
    if (logicalID.startsWith("Fn::")) this.#addLoop(logicalID, resource);
    const type = stringAt(resource, "Type") ?? "";
    const kind = NAMED.get(type)?.kind;
    if (kind === "policy") this.#addManagedPolicy(logicalID, resource);
    else if (kind !== undefined) this.#addObject(kind, logicalID, resource);
    else if (INLINE.has(type)) this.#addInline(logicalID, resource);
    else if (type === "AWS::IAM::UserToGroupAddition") {
      const [group, gaps] = this.#textsOf(resource, "GroupName", "groups");
      const condition = conditionOf(resource);
      const addition = condition === null ? { groups: group, gaps } : { gaps: gapsOf("groups", condition) };
      this.#relate(["user", ["Users"]], resource, addition);
    }
  }

  /** A loop can add roles, and a policy to each object. */
  #addLoop(logicalID: string, loop: unknown): void {
    const { data, file, subject: account } = this.#context;
    const hasRoles = JSON.stringify([loop]).includes("AWS::IAM::Role\"");
    if (hasRoles) data.addUnnamed({ address: logicalID, file, trust: null });
    const gaps = [...EVERY_GAP, ...gapsOf("inline policies", unresolved(logicalID))];
    for (const [kind] of HOLDERS) {
      data.addPart({ kind, account, file, name: null, inline: [], attached: [], groups: [], gaps });
    }
  }

  #addObject(kind: HolderKind, logicalID: string, resource: unknown): void {
    const { data, file, subject } = this.#context;
    const name = this.#values.nameOf(logicalID);
    const arn = name !== null && subject === null ? arnIn(subject, kind, "/", name) : this.#values.arnOf(logicalID);
    if (arn !== null) data.add(this.#objectOf(kind, arn, resource));
    else if (kind === "role") data.addUnnamed({ address: logicalID, file, trust: this.#trustOf(resource) });
  }

  #trustOf(resource: unknown): DocumentText {
    const { data } = this.#context;
    return data.textOf(conditionOf(resource) ?? this.#values.property(resource, "AssumeRolePolicyDocument"));
  }

  #objectOf(kind: HolderKind, arn: string, resource: unknown): IAMObject {
    const [inline, inlineGaps] = this.#policiesOf(resource);
    const [attached, attachedGaps] = this.#textsOf(resource, "ManagedPolicyArns", "attached policies");
    const [[boundary = null], boundaryGaps] = this.#textsOf(resource, "PermissionsBoundary", "permissions boundary");
    const [groups, groupGaps] = this.#textsOf(resource, "Groups", "groups");
    const condition = conditionOf(resource);
    const existence = gapsOf("inline policies", condition);
    const gaps = [...inlineGaps, ...attachedGaps, ...boundaryGaps, ...groupGaps, ...existence];
    const holder = { arn, files: this.#files, inline, attached, gaps };
    if (kind === "group") return { ...holder, kind };
    const tags = this.#values.property(resource, "Tags") ?? [];
    const isKnown = Array.isArray(tags) && tags.every((tag) => typeof field(tag, "Value") === "string");
    const principal = { ...holder, boundary, uniqueID: null, tags: isKnown ? tagsOf(tags) : null };
    if (kind === "user") return { ...principal, kind, groups };
    const seconds = this.#values.property(resource, "MaxSessionDuration") ?? 3600;
    return {
      ...principal, kind, isStored: false,
      trust: this.#trustOf(resource),
      maxSessionSeconds: typeof seconds === "number" ? seconds : null,
    };
  }

  #policiesOf(resource: unknown): readonly [InlinePolicy[], Gap[]] {
    const policies = this.#values.property(resource, "Policies") ?? [];
    if (!Array.isArray(policies)) return [[], gapsOf("inline policies", policies)];
    const inline = policies.filter((one) => unresolvedName(one) === null).map((one, i): InlinePolicy => {
      const document = this.#context.data.textOf(field(one, "PolicyDocument"));
      return { name: stringAt(one, "PolicyName") ?? `Policies[${i}]`, document };
    });
    return [inline, policies.flatMap((one) => gapsOf("inline policies", one))];
  }

  #addManagedPolicy(logicalID: string, resource: unknown): void {
    const arn = this.#values.arnOf(logicalID);
    const { data, file } = this.#context;
    const document = conditionOf(resource) ?? this.#values.property(resource, "PolicyDocument");
    if (arn !== null) data.addPolicy(arn, document, file);
    const cause = `ManagedPolicy ${logicalID} without a known ARN`;
    const addition = arn === null ? { gaps: [{ part: "attached policies", cause } as const] } : { attached: [arn] };
    for (const holder of HOLDERS) this.#relate(holder, resource, addition);
  }

  #addInline(logicalID: string, resource: unknown): void {
    const name = this.#values.property(resource, "PolicyName");
    const text = this.#context.data.textOf(conditionOf(resource) ?? this.#values.property(resource, "PolicyDocument"));
    const inline = [{ name: typeof name === "string" ? name : logicalID, document: text }];
    for (const holder of HOLDERS) this.#relate(holder, resource, { inline });
  }

  /** Adds to the objects that properties name. If a name is not known, it may be any in the template. */
  #relate(
    [kind, properties]: (typeof HOLDERS)[number], resource: unknown, addition: Partial<ObjectPart>,
  ): void {
    const { data, file, subject: account } = this.#context;
    const part = { kind, account, file, inline: [], attached: [], groups: [] };
    for (const property of properties) {
      const [names, gaps] = this.#textsOf(resource, property, "inline policies");
      for (const name of names) {
        data.addPart({ ...part, ...addition, name, gaps: [...EVERY_GAP, ...addition.gaps ?? []] });
      }
      if (gaps.length > 0) data.addPart({ ...part, name: null, gaps: [...EVERY_GAP, ...gaps] });
    }
  }

  /** Returns the texts of a text or a list, and a gap for each value that is not resolved. */
  #textsOf(resource: unknown, property: string, part: GapPart): readonly [readonly string[], Gap[]] {
    const value = this.#values.property(resource, property) ?? [];
    const list: readonly unknown[] = Array.isArray(value) ? value : [value];
    return [list.filter((item) => typeof item === "string"), list.flatMap((item) => gapsOf(part, item))];
  }
}
