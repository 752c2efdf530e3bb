import { type MapAnswer, serviceOf } from "../carm/maps.ts";
import type { Inventory, InventoryChange } from "../inventory/inventory.ts";
import { parseARN, roleARNFaults } from "../kubernetes/arn.ts";
import type { JsonObject } from "../kubernetes/json.ts";
import { SELECTOR_GROUP, SELECTOR_KIND } from "../kubernetes/kinds.ts";
import { objectMeta } from "../kubernetes/object-meta.ts";
import { compareText } from "../kubernetes/text.ts";
import type { CARMKey } from "./carm-keys.ts";

/** What a generated selector is named after. */
export interface NameSource {
  readonly via: MapAnswer["via"];
  readonly key: string;
  /** The service whose own key it is, or null for the plain one. */
  readonly service: string | null;
}

const LENGTH = 253; // of an object's name (RFC 1123 subdomain)

/** The object name for a key: the key itself where it is one, so that the same key gives the same name at any time; never a taken one. */
export function selectorName(source: NameSource, isTaken: (name: string) => boolean): string {
  const plain = plainName(source);
  const name = asSubdomain(plain);
  // A key that had to be changed might meet another one that is changed to the same: its digest keeps them apart.
  return name === plain && !isTaken(name) ? name : digestedName(name, `${source.via}/${plain}`, isTaken);
}

function digestedName(name: string, id: string, isTaken: (name: string) => boolean): string {
  const digest = digestOf(id);
  const digested = `${name.slice(0, LENGTH - digest.length - 1).replace(/[-.]+$/, "")}-${digest}`;
  return isTaken(digested) ? digestedName(name, `${id}/`, isTaken) : digested;
}

/** An account's number says by itself neither to a reader nor to YAML what it is. */
function plainName({ key, service }: NameSource): string {
  if (service !== null) return `${service}.${key}`;
  return /^[0-9]+$/.test(key) ? `account-${key}` : key;
}

function asSubdomain(text: string): string {
  const labels = text.toLowerCase().split(".").map((label) => label.replace(/[^-a-z0-9]/g, "-").replace(/^-+|-+$/g, ""));
  const name = labels.filter((label) => label !== "").join(".").slice(0, LENGTH).replace(/[-.]+$/, "");
  return name === "" ? "role" : name;
}

/** FNV-1a of 32 bits over UTF-16 code units, as 8 hexadecimal digits: nothing here is secret, only different. */
function digestOf(text: string): string {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return (hash >>> 0).toString(16).padStart(8, "0");
}

/** The groups that a key gives one role: all there are and ever will be (null), or just these. */
export interface RoleShare {
  readonly roleARN: string;
  readonly groups: readonly string[] | null;
  readonly source: NameSource;
}

/** A selector in the making: one role for one set of groups, in every namespace where the maps give just that. */
interface Draft extends RoleShare {
  readonly namespaces: string[];
}

/**
 * The IAMRoleSelectors that give what the maps give, sorted by name. No two can select one resource: a namespace names one key,
 * and under a key each group has one role. A text that is no role's ARN gets no selector.
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
  const given = new Set<string>();
  const selectors = [...drafts.values()].map((draft) => {
    const name = selectorName(draft.source, (one) => given.has(one) || isAnothers(one, draft.roleARN, inventory));
    given.add(name);
    return selectorObject(name, draft);
  });
  return selectors.toSorted((a, b) => compareText(objectMeta(a).name, objectMeta(b).name));
}

/** What puts these selectors in the place of the stored ones. */
export function changesTo(selectors: readonly JsonObject[], stored: readonly string[]): readonly InventoryChange[] {
  return [
    ...stored.map((name) => ({ type: "remove", group: SELECTOR_GROUP, kind: SELECTOR_KIND, namespace: "", name }) as const),
    ...selectors.map((object) => ({ type: "put", object }) as const),
  ];
}

/** The roles under a key, each with its groups. Where one role is for everything, so is its selector: groups that come later too. */
function sharesOf({ via, key, answers, rest }: CARMKey): readonly RoleShare[] {
  const byRole = new Map<string, [string, ...string[]]>();
  for (const [group, { roleARN }] of answers) {
    const groups = roleARN === null ? undefined : byRole.get(roleARN);
    if (groups !== undefined) groups.push(group);
    else if (roleARN !== null) byRole.set(roleARN, [group]);
  }
  if (rest.roleARN !== null && byRole.get(rest.roleARN)?.length === answers.size) {
    return [{ roleARN: rest.roleARN, groups: null, source: { via, key, service: null } }];
  }
  return [...byRole].map(([roleARN, groups]) => {
    const service = roleARN === rest.roleARN ? null : serviceOf(groups[0]);
    return { roleARN, groups, source: { via, key, service } };
  });
}

/** Whether the webhook would take it: controllers assume whatever parses, and STS refuses what is no role. */
export function isRoleARN(text: string): boolean {
  const arn = parseARN(text);
  return arn !== null && roleARNFaults(text, arn).length === 0;
}

/** A selector's role can never be changed, so a name that stands for another role is not to be had. */
function isAnothers(name: string, roleARN: string, inventory: Inventory): boolean {
  return inventory.malformed.has(name) || (inventory.selectors.get(name)?.roleARN ?? roleARN) !== roleARN;
}

function selectorObject(name: string, { roleARN, groups, namespaces }: Draft): JsonObject {
  return {
    apiVersion: `${SELECTOR_GROUP}/v1alpha1`,
    kind: SELECTOR_KIND,
    metadata: { name },
    spec: {
      arn: roleARN,
      namespaceSelector: { names: namespaces.toSorted(compareText) },
      ...(groups === null ? {} : { resourceTypeSelector: groups.map((group) => ({ group, version: "", kind: "" })) }), // the shipped CRD requires all three
    },
  };
}
