import { field, stringAt, stringMap } from "../formats/json.ts";
import {
  type DocumentText, EVERY_GAP, type Gap, type HolderKind, type IAMObject, type InlinePolicy,
} from "./iam-objects.ts";
import { arnIn, gapsOf, type ReaderContext } from "./iam-reader.ts";
import {
  indexesOf, knownText, knownTexts, plainAddress, type TerraformConfiguration, type TerraformResource,
} from "./terraform-plan.ts";
import { unresolvedName } from "./unresolved-values.ts";

const KINDS: ReadonlyMap<string, HolderKind | "policy"> = new Map([
  ["aws_iam_role", "role"], ["aws_iam_user", "user"], ["aws_iam_group", "group"], ["aws_iam_policy", "policy"],
]);
const NO_GAPS: readonly Gap[] = [];

/** The attribute with the name of an object, and the attribute with what the object gets. */
type Relation = readonly [kind: HolderKind, attribute: string, what: "policy" | "policy_arn" | "group" | "groups"];

const RELATIONS: ReadonlyMap<string, readonly Relation[]> = new Map<string, readonly Relation[]>([
  ["aws_iam_role_policy", [["role", "role", "policy"]]],
  ["aws_iam_user_policy", [["user", "user", "policy"]]],
  ["aws_iam_group_policy", [["group", "group", "policy"]]],
  ["aws_iam_role_policy_attachment", [["role", "role", "policy_arn"]]],
  ["aws_iam_user_policy_attachment", [["user", "user", "policy_arn"]]],
  ["aws_iam_group_policy_attachment", [["group", "group", "policy_arn"]]],
  ["aws_iam_policy_attachment", [
    ["role", "roles", "policy_arn"], ["user", "users", "policy_arn"], ["group", "groups", "policy_arn"],
  ]],
  ["aws_iam_group_membership", [["user", "users", "group"]]],
  ["aws_iam_user_group_membership", [["user", "user", "groups"]]],
]);

type Resource = TerraformResource;
/** What a resource adds to others. */
type Addition = Partial<{
  inline: readonly InlinePolicy[]; attached: readonly string[]; groups: readonly string[]; gaps: readonly Gap[];
}>;

/** Adds the resources of a state or a plan to the data. */
export class TerraformIAM {
  readonly #context: ReaderContext;
  readonly #configuration: TerraformConfiguration;
  readonly #resources: readonly Resource[];
  readonly #files: readonly string[];
  /** The resources that others refer to, by address without the indexes of instances. */
  readonly #byAddress: ReadonlyMap<string, readonly Resource[]>;

  constructor(context: ReaderContext, configuration: TerraformConfiguration, resources: readonly Resource[]) {
    this.#context = context;
    this.#configuration = configuration;
    this.#resources = resources;
    this.#files = [context.file];
    this.#byAddress = Map.groupBy(resources.filter(({ type }) => KINDS.has(type)), (one) => plainAddress(one.address));
  }

  addResources(): void {
    for (const resource of this.#resources) {
      const kind = KINDS.get(resource.type);
      if (kind === "policy") this.#addPolicy(resource);
      else if (!resource.isManaged) continue;
      else if (kind !== undefined) this.#addObject(kind, resource);
      else this.#addRelation(resource);
    }
  }

  #addPolicy(resource: Resource): void {
    const arn = this.#arnOf("policy", resource);
    const document = this.#document(resource, "policy");
    if (arn !== null && document !== null) this.#context.data.addPolicy(arn, document, this.#context.file);
  }

  /** An object whose name is known after apply cannot be asked about. */
  #addObject(kind: HolderKind, resource: Resource): void {
    const arn = this.#arnOf(kind, resource);
    if (arn !== null) this.#context.data.add(this.#objectOf(kind, arn, resource));
  }

  #objectOf(kind: HolderKind, arn: string, resource: Resource): IAMObject {
    const inline = this.#value(resource, "inline_policy");
    const attached = this.#value(resource, "managed_policy_arns");
    const boundary = this.#value(resource, "permissions_boundary");
    const gaps = [
      ...gapsOf("inline policies", inline), ...gapsOf("attached policies", attached),
      ...gapsOf("permissions boundary", boundary),
    ];
    const holder = {
      arn, files: this.#files, gaps: gaps.length === 0 ? NO_GAPS : gaps, attached: knownTexts(attached) ?? [],
      inline: this.#inlineOf(inline),
    };
    if (kind === "group") return { ...holder, kind };
    const tags = this.#value(resource, "tags_all") ?? this.#value(resource, "tags");
    const principal = {
      ...holder, uniqueID: knownText(this.#value(resource, "unique_id")), boundary: knownText(boundary),
      tags: unresolvedName(tags) === null ? stringMap(tags) : null,
    };
    if (kind === "user") return { ...principal, kind, groups: [] };
    const seconds = this.#value(resource, "max_session_duration");
    const trust = this.#document(resource, "assume_role_policy");
    return { ...principal, kind, trust, maxSessionSeconds: typeof seconds === "number" ? seconds : null };
  }

  /** The provider writes an empty block for none. */
  #inlineOf(blocks: unknown): InlinePolicy[] {
    const list: readonly unknown[] = Array.isArray(blocks) ? blocks : [];
    return list.flatMap((block) => {
      const text = knownText(field(block, "policy"));
      if (text === null) return [];
      return [{ name: stringAt(block, "name") ?? "", document: this.#context.data.textOf(text) }];
    });
  }

  /** Adds what a resource says about the policies or the groups of others. */
  #addRelation(resource: Resource): void {
    for (const [kind, attribute, what] of RELATIONS.get(resource.type) ?? []) {
      this.#relate(kind, attribute, resource, this.#additionOf(what, resource));
    }
  }

  #additionOf(what: Relation[2], resource: Resource): Addition {
    if (what === "policy") return this.#inline(resource);
    return what === "policy_arn" ? this.#attached(resource) : this.#groups(resource, what);
  }

  #inline(resource: Resource): Addition {
    const document = this.#document(resource, "policy");
    return { inline: [{ name: knownText(this.#value(resource, "name")) ?? resource.address, document }] };
  }

  #attached(resource: Resource): Addition {
    const value = this.#value(resource, "policy_arn");
    const arn = knownText(value);
    if (arn !== null) return { attached: [arn] };
    const policy = this.#referenced(resource, "policy_arn");
    const found = policy === null ? null : this.#arnOf("policy", policy);
    return found === null ? { gaps: gapsOf("attached policies", value) } : { attached: [found] };
  }

  #groups(resource: Resource, name: string): Addition {
    const value = this.#value(resource, name);
    return { groups: typeof value === "string" ? [value] : knownTexts(value) ?? [], gaps: gapsOf("groups", value) };
  }

  /** Adds to the object that an attribute names. If its name is known after apply, it may be any in the file. */
  #relate(kind: HolderKind, attribute: string, resource: Resource, addition: Addition): void {
    const { data, file, subject: account } = this.#context;
    const value = this.#value(resource, attribute);
    const part = { kind, account, file, inline: [], attached: [], groups: [] };
    const names = typeof value === "string" ? [value] : knownTexts(value) ?? this.#referencedName(resource, attribute);
    const gaps = [...EVERY_GAP, ...addition.gaps ?? []];
    for (const name of names ?? []) data.addPart({ ...part, ...addition, name, gaps });
    if (names !== null) return;
    data.addPart({ ...part, name: null, gaps: [...EVERY_GAP, ...gapsOf("inline policies", value)] });
  }

  /** Returns null if the name is not known. Returns [] for an object whose name is not known either. */
  #referencedName(resource: Resource, attribute: string): readonly string[] | null {
    const found = this.#referenced(resource, attribute);
    if (found === null) return null;
    const name = knownText(this.#value(found, "name"));
    return name === null ? [] : [name];
  }

  /** Returns the referenced instance: that with the stated index, else the only one, else that with the same index. */
  #referenced(resource: Resource, attribute: string): Resource | null {
    const found = this.#configuration.references(resource, attribute).flatMap((one) => this.#byAddress.get(one) ?? []);
    const stated = this.#configuration.instances(resource, attribute);
    if (stated.length > 0) return onlyOf(found.filter(({ address }) => stated.includes(address)));
    return onlyOf(found) ?? onlyOf(found.filter(({ address }) => indexesOf(address) === indexesOf(resource.address)));
  }

  #arnOf(kind: HolderKind | "policy", resource: Resource): string | null {
    const arn = knownText(this.#value(resource, "arn"));
    if (arn !== null) return arn;
    const name = knownText(this.#value(resource, "name"));
    const path = this.#value(resource, "path") ?? "/";
    if (name === null || typeof path !== "string") return null;
    return arnIn(this.#context.subject, kind, path, name);
  }

  #document(resource: Resource, name: string): DocumentText | null {
    const value = this.#value(resource, name);
    return value === null ? null : this.#context.data.textOf(value);
  }

  #value(resource: Resource, name: string): unknown {
    return this.#configuration.value(resource, name);
  }
}

/** Returns the item of a list of one item, which may repeat it, or null. */
function onlyOf(found: readonly Resource[]): Resource | null {
  const [only = null, ...others] = new Set(found);
  return others.length === 0 ? only : null;
}
