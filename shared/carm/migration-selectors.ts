import { SELECTORS } from "../ack/selectors.ts";
import type { MapLookup } from "./carm-maps.ts";
import type { Inventory, InventoryChange } from "../core/inventory.ts";
import { parseRoleARN } from "../formats/arn.ts";
import type { JsonObject } from "../formats/json.ts";
import { SELECTOR_GROUP, SELECTOR_KIND, serviceOf } from "../core/ack-groups.ts";
import { objectReference } from "../formats/object-meta.ts";
import { compareText } from "../formats/text.ts";
import type { CARMKey } from "./migration-keys.ts";

/** The map key that a generated selector is named after. */
interface NameSource {
  readonly via: MapLookup["via"];
  readonly key: string;
  /** The service prefix of the key; null if the key has no service prefix. */
  readonly service: string | null;
}

const MAX_NAME_LENGTH = 253; // RFC 1123 subdomain

/** Returns a unique selector name for a key. If the key is a valid and unused name, returns the key. */
export function selectorName(source: NameSource, isTaken: (name: string) => boolean): string {
  const plain = plainName(source);
  const name = toSubdomain(plain);
  // Adds a digest of the key to a converted name, because two keys can be converted to the same name.
  return name === plain && !isTaken(name) ? name : digestedName(name, `${source.via}/${plain}`, isTaken);
}

function digestedName(name: string, id: string, isTaken: (name: string) => boolean): string {
  const digest = digestOf(id);
  const digested = `${name.slice(0, MAX_NAME_LENGTH - digest.length - 1).replace(/[-.]+$/, "")}-${digest}`;
  return isTaken(digested) ? digestedName(name, `${id}/`, isTaken) : digested;
}

/**
 * Returns the preferred selector name for a key. The name may be invalid or in use. Adds a prefix to an account ID,
 * because YAML parsers would read the ID as a number.
 */
function plainName({ key, service }: NameSource): string {
  if (service !== null) return `${service}.${key}`;
  return /^[0-9]+$/.test(key) ? `account-${key}` : key;
}

function toSubdomain(text: string): string {
  const labels = text
    .toLowerCase()
    .split(".")
    .map((label) => label.replace(/[^-a-z0-9]/g, "-").replace(/^-+|-+$/g, ""));
  const name = labels.filter((label) => label !== "").join(".").slice(0, MAX_NAME_LENGTH).replace(/[-.]+$/, "");
  return name === "" ? "role" : name;
}

/**
 * Returns the 32-bit FNV-1a hash of the UTF-16 code units, as 8 hexadecimal digits. The hash has no security purpose.
 */
function digestOf(text: string): string {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return (hash >>> 0).toString(16).padStart(8, "0");
}

/**
 * A role of a key and the groups that have this role. `groups` is null for all groups, including groups that are added
 * later.
 */
interface RoleShare {
  readonly roleARN: string;
  readonly groups: readonly string[] | null;
  readonly source: NameSource;
}

/**
 * A selector to generate: one role, its groups, and all namespaces for which the maps specify the role for these
 * groups.
 */
interface Draft extends RoleShare {
  readonly namespaces: string[];
}

/**
 * Returns the IAMRoleSelectors that replace the maps, sorted by name. The selectors never conflict, because a namespace
 * names only one key, and a key has only one role for each group. A value that is not a role ARN gets no selector.
 */
export function selectorsFor(keys: readonly CARMKey[], inventory: Inventory): readonly JsonObject[] {
  const drafts = new Map<string, Draft>();
  for (const key of keys) {
    for (const share of sharesOf(key).filter(({ roleARN }) => isRoleARN(roleARN))) {
      const id = JSON.stringify([share.roleARN, share.groups]);
      const draft = drafts.get(id) ?? { ...share, namespaces: [] };
      draft.namespaces.push(...key.namespaces);
      drafts.set(id, draft);
    }
  }
  const used = new Set<string>();
  const selectors = [...drafts.values()].map((draft) => {
    const name = selectorName(draft.source, (candidate) => (
      used.has(candidate) || hasOtherRole(candidate, draft.roleARN, inventory)
    ));
    used.add(name);
    return selectorObject(name, draft);
  });
  return selectors.toSorted((a, b) => compareText(objectReference(a).name, objectReference(b).name));
}

/** Returns the inventory changes that replace the stored selectors by `selectors`. */
export function replaceSelectors(
  stored: readonly string[], selectors: readonly JsonObject[],
): readonly InventoryChange[] {
  return [
    ...stored.map(
      (name) => ({ type: "remove", group: SELECTOR_GROUP, kind: SELECTOR_KIND, namespace: "", name }) as const,
    ),
    ...selectors.map((object) => ({ type: "put", object }) as const),
  ];
}

/**
 * Returns the roles of a key and the groups of each role. If the key has the same role for every group, its selector
 * also covers groups that are added later.
 */
function sharesOf({ via, key, byGroup, fallback }: CARMKey): readonly RoleShare[] {
  const groupsByRole = new Map<string, [string, ...string[]]>();
  for (const [group, { roleARN }] of byGroup) {
    const groups = roleARN === null ? undefined : groupsByRole.get(roleARN);
    if (groups !== undefined) groups.push(group);
    else if (roleARN !== null) groupsByRole.set(roleARN, [group]);
  }
  if (fallback.roleARN !== null && groupsByRole.get(fallback.roleARN)?.length === byGroup.size) {
    return [{ roleARN: fallback.roleARN, groups: null, source: { via, key, service: null } }];
  }
  return [...groupsByRole].map(([roleARN, groups]) => {
    const service = roleARN === fallback.roleARN ? null : serviceOf(groups[0]);
    return { roleARN, groups, source: { via, key, service } };
  });
}

/** Whether the text is the ARN of an IAM role. Controllers accept any ARN, but STS rejects ARNs of other types. */
export function isRoleARN(text: string): boolean {
  return parseRoleARN(text) !== null;
}

/**
 * Whether a stored selector named `name` is malformed or has another role. If so, the migration cannot reuse the name,
 * because the role of a selector is immutable.
 */
function hasOtherRole(name: string, roleARN: string, inventory: Inventory): boolean {
  const selectors = inventory.of(SELECTORS);
  return selectors.malformed.has(name) || (selectors.get(name)?.roleARN ?? roleARN) !== roleARN;
}

function selectorObject(name: string, { roleARN, groups, namespaces }: Draft): JsonObject {
  // The shipped CustomResourceDefinition requires group, version and kind in each entry of `resourceTypeSelector`.
  const resourceTypeSelector = groups?.map((group) => ({ group, version: "", kind: "" }));
  return {
    apiVersion: `${SELECTOR_GROUP}/v1alpha1`,
    kind: SELECTOR_KIND,
    metadata: { name },
    spec: {
      arn: roleARN,
      namespaceSelector: { names: namespaces.toSorted(compareText) },
      ...(resourceTypeSelector !== undefined && { resourceTypeSelector }),
    },
  };
}
