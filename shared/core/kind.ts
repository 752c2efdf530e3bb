import type { KindName } from "../formats/object-meta.ts";
import type { Condition } from "./conditions.ts";
import type { DecisionSettings, Feature } from "./context.ts";
import { SELECTOR_GROUP } from "./ack-groups.ts";
import type { RoleSource } from "./inventory.ts";
import type { ReviewedRequest, WarnContext, WarnRule } from "./exemptions.ts";
import type { AnnotatedObject, AnnotatedStore } from "./annotated-objects.ts";
import type { StoreKey } from "./store.ts";
import type { FieldPath, JsonObject } from "../formats/json.ts";

/** The group that stands for each group of ACK resources. No rule can match the suffix of a group. */
export const ALL_SERVICES = `*.${SELECTOR_GROUP}`;

/** The type and the name of an object. */
export interface NamedKind extends KindName {
  readonly name: string;
}

/** How the API server names the kind in the rules of webhooks, policies and roles. */
export interface Served {
  /** The resource names of the kind by group. The group ALL_SERVICES stands for each group of ACK resources. */
  readonly groups: readonly { readonly group: string; readonly plurals: readonly string[] }[];
  /** The version whose objects the checks read; `*` if the definition of the kind states it. */
  readonly version: "v1" | "v1alpha1" | "*";
  readonly scope: "Cluster" | "Namespaced" | "*";
}

export type Operation = "CREATE" | "UPDATE" | "DELETE";

/** The writes of an object, and of its subresources, that a rule matches. */
export interface Writes {
  readonly operations: readonly Operation[];
  readonly subresources?: readonly ("status" | "finalize")[];
  /** Whether the rule matches only the subresources. */
  readonly excludesResource?: true;
}

/** A webhook that receives writes of the kind. The kinds of one path and one name share a webhook. */
export interface Review extends Omit<Writes, "excludesResource"> {
  /** Whether the path starts with `/mutate`. Otherwise, it starts with `/validate`. */
  readonly mutates?: true;
  /** The start of the name of the webhook, if the path has several webhooks. */
  readonly name?: string;
  /** The check or the feature that needs the review. Default: every installation has the review. */
  readonly onlyFor?: string;
  /** The label with which an object, or the namespace of objects without it, requests the review. Default: none. */
  readonly optIn?: string;
  /** What happens to a write while the webhook is down. */
  readonly whenDown: "Fail" | "Ignore";
  /**
   * The namespaces whose objects are reviewed. Default: all. Some are exempt only where a denial could lock the cluster
   * out: `others` are all except kube-system and that of the webhook; `unprotected`: these except the other system
   * namespaces. `ack-system` is only that of the controllers.
   */
  readonly namespaces?: "others" | "unprotected" | "ack-system";
  /** The conditions under which the API server calls the webhook. */
  readonly conditions: readonly Condition[];
  /** Whether the review records an admitted change in the ConfigMap of pending writes, unless it is a dry run. */
  readonly records?: true;
}

/** How a source watches the objects of a kind in a cluster. */
export interface Watch {
  /** The number of objects in one page of a list. */
  readonly pageSize: number;
  /** Whether the API server sends only the metadata of the objects, so that no value of a Secret is received. */
  readonly metadataOnly?: true;
  /** Each object of these names has its own watch, so that a source needs no rights to other objects of the type. */
  readonly names?: readonly string[];
  /**
   * The parts of the cluster with which a source loads the kind. Not every source loads them, because the rights to
   * them are separate. Default: every source loads the kind.
   */
  readonly parts?: readonly string[];
  /** Whether objects of the type have no namespace. Default: every object has one. */
  readonly isClusterScoped?: (type: KindName) => boolean;
  /** Returns what an inventory keeps of an object; null for nothing. */
  readonly keep: (object: JsonObject) => JsonObject | null;
  /** The store of the objects of other namespaces, which few sources load. Default: such objects are never loaded. */
  readonly storeOfOthers?: StoreKey;
  /** The store that lacks objects while the kind is not listed. Default: the store of the kind. */
  readonly unlistedIn?: StoreKey;
}

/** A check that only compares sizes. */
export type SizeLimit = Required<Pick<LimitOfKind, "code" | "fix" | "example">>;

/** The check that reports an object that is too large to be read. Only IRS-48 and WAIVER-01 have rules of their own. */
export interface LimitOfKind {
  readonly code: string;
  /** The fix and the example of a check that only compares sizes. */
  readonly fix?: string;
  readonly example?: string;
  /** The code of the check that reports a deletion. Default: `code`. */
  readonly deletion?: string;
}

/** The form in which a version of a controller stores objects that differ from their manifests. */
export interface StoredForm {
  /** Returns the version of the controller in its Deployment; null if it is not among the objects. */
  readonly versionIn: (objects: readonly JsonObject[]) => string | null;
  /** Returns the object as the version stores it: the same object if nothing differs. */
  readonly asStored: (version: string, object: JsonObject) => JsonObject;
}

/** The numbers of objects in the summary of `audit`. */
export type CountedAs = "selectors" | "resources" | "identities";

/** A kind of objects that decisions read. */
export interface Kind {
  readonly id: string;
  /** The feature to which the kind belongs. Default: every installation has the kind. */
  readonly feature?: Feature | undefined;
  /** The types of the kind as `KIND.GROUP`, or a function for types that no list can contain. */
  readonly types: readonly string[] | ((type: KindName) => boolean);
  /** Whether an object of this name is of the kind. Default: every object of the types. */
  readonly names?: (name: string) => boolean;
  /** Missing if no rule of a webhook, policy or role names the kind. */
  readonly served?: Served;
  /** The last part of the path of the webhook, such as `/validate/namespaces`. Null if the webhook reviews none. */
  readonly path: string | null;
  readonly reviews?: readonly Review[];
  /**
   * Whether an installation may leave out the objects of some namespaces. A selector, a CARM map, an identity, or a
   * FieldExport that is not reviewed could change the roles in every namespace.
   */
  readonly isExcludable?: true;
  /** The writes whose waivers no other policy always checks. Default: none. */
  readonly waivers?: Writes;
  /** The writes for which the checks only warn, because a controller could not complete its work otherwise. */
  readonly warnsOnly: readonly WarnRule[];
  /** The fields that nobody can change: an object with another value has to replace the stored one. Default: none. */
  readonly immutable?: readonly FieldPath[];
  /** Missing if the webhook reads no object of the kind. */
  readonly limit?: LimitOfKind;
  /** The store of the objects. Missing if no inventory stores them. */
  readonly store?: StoreKey;
  /** The name of the number of the objects in the summary of `audit`. Default: they are not counted. */
  readonly countedAs?: CountedAs;
  /** Reads an object whose role is resolved; null for another object. Missing if the objects of the kind have none. */
  readonly readRoleObject?: (object: JsonObject) => AnnotatedObject | null;
  /** The store of the objects, if the webhook records their roles in annotations. */
  readonly annotated?: StoreKey<AnnotatedStore>;
  /** How a source watches the kind. Missing if no source does. */
  readonly watch?: Watch;
  /** Whether every decision about a role depends on the kind. An unknown definition hides all objects of its kind. */
  readonly isBasic?: true;
  /** Whether an object of the kind can change the role of a resource or a cluster. */
  readonly choosesRole?: true;
  /** Returns whether a value refers to an object of the kind, which chooses a role then. Default: none does. */
  readonly isReference?: (value: JsonObject) => boolean;
  /** Returns whether an object of an unknown kind is probably of the kind in another version. Default: none is. */
  readonly resembles?: (object: JsonObject) => boolean;
  /** Whether the type of the objects is probably a misspelling of another one. */
  readonly isMisspelled?: true;
  /** The mode in which controllers read the objects. Default: every mode. */
  readonly readIn?: DecisionSettings["mode"];
  /** How a controller stores the objects. Default: as they are written. */
  readonly storedForm?: StoredForm;
  /** What gives the objects of the kind their roles. The first source that serves an object decides. */
  readonly roles?: readonly RoleSource[];
  /** The verbs that each ClusterRole or Role grants, by its name without the name of the product. */
  readonly rights?: Readonly<Record<string, readonly string[]>>;
}

/** Returns whether an installation without these features lacks the kind. */
export function isLeftOut({ feature }: Pick<Kind, "feature">, without: ReadonlySet<Feature>): boolean {
  return feature !== undefined && without.has(feature);
}

/** Returns whether the checks only warn about a write of an object of the kind. */
export function warnsOnly(
  { warnsOnly: rules }: Pick<Kind, "warnsOnly">, request: ReviewedRequest, context: WarnContext,
): boolean {
  return rules.some((applies) => applies(request, context));
}
