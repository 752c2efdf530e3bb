import { field, isSame, stringAt, stringMap } from "../formats/json.ts";
import {
  type DocumentText, EVERY_GAP, type Gap, type HolderKind, type IAMObject, type InlinePolicy,
} from "./iam-objects.ts";
import { arnIn, gapsOf, type ReaderContext } from "./iam-reader.ts";
import {
  indexesOf, knownText, knownTexts, plainAddress, type TerraformConfiguration, type TerraformResource,
} from "./terraform-plan.ts";
import {
  type Addition, asPolicies, type OwnPolicies, type PolicyAttribute, RelatedRoles, type Relation, type RelationRow,
  RELATIONS,
} from "./terraform-relations.ts";
import { unresolvedName } from "./unresolved-values.ts";

const KINDS: ReadonlyMap<string, HolderKind | "policy"> = new Map([
  ["aws_iam_role", "role"], ["aws_iam_user", "user"], ["aws_iam_group", "group"], ["aws_iam_policy", "policy"],
]);
const NO_GAPS: readonly Gap[] = [];

type Resource = TerraformResource;
/** The resources of a file. */
interface Resources {
  readonly resources: readonly Resource[];
  /** Those before a plan; null for a state. */
  readonly prior: readonly Resource[] | null;
}

/** Adds the resources of a state or a plan to the data. */
export class TerraformIAM {
  readonly #context: ReaderContext;
  readonly #configuration: TerraformConfiguration;
  readonly #resources: readonly Resource[];
  /** By address; null for a state. */
  readonly #prior: ReadonlyMap<string, Resource> | null;
  readonly #files: readonly string[];
  readonly #related: RelatedRoles;
  /** The resources that others refer to, by address without the indexes of instances. */
  readonly #byAddress: ReadonlyMap<string, readonly Resource[]>;

  constructor(context: ReaderContext, configuration: TerraformConfiguration, { resources, prior }: Resources) {
    this.#context = context;
    this.#configuration = configuration;
    this.#resources = resources;
    this.#prior = prior === null ? null : new Map(prior.map((one) => [one.address, one]));
    this.#files = [context.file];
    this.#related = new RelatedRoles(resources.filter(({ type }) => KINDS.get(type) === "role"));
    this.#byAddress = Map.groupBy(resources.filter(({ type }) => KINDS.has(type)), (one) => plainAddress(one.address));
  }

  addResources(): void {
    const relations = this.#resources.flatMap((one) => this.#relationsOf(one));
    this.#compare(relations, "after");
    for (const one of this.#prior?.values() ?? []) this.#compare(this.#relationsOf(one), "before");
    for (const resource of this.#resources) {
      const kind = KINDS.get(resource.type);
      if (kind === "policy") this.#addPolicy(resource);
      else if (kind !== undefined && resource.isManaged) this.#addObject(kind, resource);
    }
    for (const relation of relations) this.#relate(relation);
  }

  #compare(relations: readonly Relation[], time: "before" | "after"): void {
    for (const { kind, names, addition } of relations) {
      if (kind === "role") for (const name of names ?? []) this.#related.add(name, addition, time);
    }
  }

  #addPolicy(resource: Resource): void {
    const arn = this.#arnOf("policy", resource);
    const document = this.#document(resource, "policy");
    if (arn !== null && document !== null) this.#context.data.addPolicy(arn, document, this.#context.file);
  }

  #addObject(kind: HolderKind, resource: Resource): void {
    const arn = this.#arnOf(kind, resource);
    const { data, file } = this.#context;
    if (arn !== null) data.add(this.#objectOf(kind, arn, resource));
    else if (kind === "role") {
      data.addUnnamed({ address: resource.address, file, trust: this.#document(resource, "assume_role_policy") });
    }
  }

  #objectOf(kind: HolderKind, arn: string, resource: Resource): IAMObject {
    const inline = this.#value(resource, "inline_policy");
    const attached = this.#value(resource, "managed_policy_arns");
    const boundary = this.#value(resource, "permissions_boundary");
    const own = this.#own(resource, "inline_policy", this.#inlineOf(inline));
    const arns = this.#own(resource, "managed_policy_arns", asPolicies(knownTexts(attached) ?? []));
    const gaps = [
      ...gapsOf("inline policies", inline), ...own.gaps, ...gapsOf("attached policies", attached), ...arns.gaps,
      ...gapsOf("permissions boundary", boundary),
    ];
    const holder = {
      arn, files: this.#files, gaps: gaps.length === 0 ? NO_GAPS : gaps, inline: own.policies,
      attached: arns.policies.map(({ name }) => name),
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
    const maxSessionSeconds = typeof seconds === "number" ? seconds : null;
    return { ...principal, kind, trust, isStored: this.#prior === null, maxSessionSeconds };
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

  /** Returns the policies of an attribute without the copies of those that other resources add. */
  #own(
    resource: Resource, name: "inline_policy" | "managed_policy_arns", listed: readonly InlinePolicy[],
  ): OwnPolicies {
    return this.#related.withoutCopies(resource, listed, {
      part: name === "inline_policy" ? "inline policies" : "attached policies", place: `${resource.address}.${name}`,
      origin: this.#originOf(resource, name),
    });
  }

  /** Terraform keeps the prior value of an attribute that the configuration does not set. */
  #originOf(resource: Resource, name: string): PolicyAttribute["origin"] {
    if (this.#prior === null) return "open";
    const before = this.#prior.get(resource.address)?.values[name];
    return this.#configuration.has(resource, name) || !isSame(before, resource.values[name]) ? "set" : "computed";
  }

  /** Returns what a resource says about the policies or the groups of others. */
  #relationsOf(resource: Resource): Relation[] {
    const rows = resource.isManaged ? RELATIONS.get(resource.type) ?? [] : [];
    return rows.map(([kind, attribute, what]) => ({
      kind, names: this.#names(resource, attribute), addition: this.#additionOf(what, resource),
      gaps: gapsOf("inline policies", this.#value(resource, attribute)),
    }));
  }

  #additionOf(what: RelationRow[2], resource: Resource): Addition {
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

  /** Adds to the objects of these names. */
  #relate({ kind, names, addition, gaps: unnamed }: Relation): void {
    const { data, file, subject: account } = this.#context;
    const part = { kind, account, file, inline: [], attached: [], groups: [] };
    const gaps = [...EVERY_GAP, ...addition.gaps ?? []];
    for (const name of names ?? []) data.addPart({ ...part, ...addition, name, gaps });
    if (names === null) data.addPart({ ...part, name: null, gaps: [...EVERY_GAP, ...unnamed] });
  }

  #names(resource: Resource, attribute: string): readonly string[] | null {
    const value = this.#value(resource, attribute);
    return typeof value === "string" ? [value] : knownTexts(value) ?? this.#referencedName(resource, attribute);
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
