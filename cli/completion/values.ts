import { CATALOGUE } from "../../shared/judges.ts";
import { SELECTOR_GROUP } from "../../shared/core/ack-groups.ts";
import { CAPA_VERSION, REFERRER_KINDS } from "../../shared/core/capa-kinds.ts";
import { choicesOf, type Command, type Definition } from "../../shared/core/setting-definition.ts";
import type { SettingName } from "../../shared/core/settings.ts";
import { ERRORS } from "../../shared/formats/errors.ts";
import { DEFAULT_NAMESPACE } from "../../shared/formats/object-meta.ts";
import { BUNDLED_KINDS, typesIn } from "../../shared/ack/bundled-types.ts";
import type { TypeEntry } from "../../shared/core/resource-types.ts";
import { pluralOf } from "../input/named-resource.ts";
import { SHELLS } from "./scripts.ts";
import type { ClusterNames } from "./cluster-names.ts";
import type { Cursor } from "./cursor.ts";

type Candidate = readonly [value: string, description?: string];

/** The candidates for a word. */
export interface Values {
  readonly candidates: readonly Candidate[];
  /** Whether the value continues after the candidate, so that no space follows. */
  readonly isOpen?: boolean;
  /** Whether the value is the name of a file. */
  readonly areFiles?: boolean;
}

const FILES: Values = { candidates: [], areFiles: true };
const SELECTORS = { group: SELECTOR_GROUP, version: "v1alpha1", plural: "iamroleselectors" };
const NAMESPACES = { group: "", version: "v1", plural: "namespaces" };

/** Where a value is. */
type Place = Pick<Cursor, "command" | "current" | "positionals">;
type Source = (place: Place, names: ClusterNames) => Promise<Values> | Values;

async function selectorValues(_: Place, names: ClusterNames): Promise<Values> {
  return { candidates: (await names.in(SELECTORS)).map((name) => [name]) };
}

/** The sources of values that the settings table does not list. */
const OF_FLAGS: Partial<Record<SettingName, Source>> = {
  selector: selectorValues,
  context: async (_, names) => ({ candidates: (await names.contexts()).names.map((name) => [name]) }),
  check: ({ current }) => {
    const at = current.indexOf("=");
    const ids = CATALOGUE.filter(({ fixed }) => fixed !== true).map(({ id, fix }): Candidate => [`${id}=`, fix]);
    const severities = ["deny", "warn", "off"].map((one): Candidate => [current.slice(0, at + 1) + one]);
    return at < 0 ? { candidates: ids, isOpen: true } : { candidates: severities };
  },
  kind: () => ({ candidates: Array.from(typesIn(BUNDLED_KINDS), ({ kind, group }) => [`${kind}.${group}`]) }),
};

/** Returns the values of a flag. */
export async function flagValues(
  [name, definition]: readonly [SettingName, Definition], place: Place, names: ClusterNames,
): Promise<Values> {
  const source = OF_FLAGS[name];
  if (source !== undefined) return await source(place, names);
  const choices = choicesOf(definition, place.command === "" ? "version" : place.command);
  if (choices !== undefined) return { candidates: choices.map((choice) => [choice]) };
  if (definition.value === "NS") return { candidates: (await names.in(NAMESPACES)).map((one) => [one]) };
  return FILE_VALUES.has(definition.value) ? FILES : { candidates: [] };
}

const FILE_VALUES: ReadonlySet<string | undefined> = new Set(["FILE", "PATH", "DIR"]);

/** The sources of the arguments of commands. The arguments of the others are paths. */
const OF_ARGUMENTS: Partial<Record<Command | "", Source>> = {
  "": () => ({ candidates: [] }),
  "why": resourceValues,
  "trust who": selectorValues,
  "trust policy": selectorValues,
  "completion": () => ({ candidates: SHELLS.map((shell) => [shell]) }),
  "manifests": () => ({ candidates: ["all", "crds", "rbac", "policies", "webhooks"].map((part) => [part]) }),
  "explain": () => ({
    candidates: [
      ...CATALOGUE.map(({ id, fix }): Candidate => [id, fix]), ...Object.keys(ERRORS).map((code): Candidate => [code]),
    ],
  }),
};

/** Returns the values of an argument. */
export async function argumentValues(place: Place, names: ClusterNames): Promise<Values> {
  return await (OF_ARGUMENTS[place.command] ?? (() => FILES))(place, names);
}

/** Returns the kinds that can have a role, and after `TYPE/` the names of their objects. */
async function resourceValues({ current, positionals }: Place, names: ClusterNames): Promise<Values> {
  if (positionals.length > 0) return { candidates: [] };
  const capa = REFERRER_KINDS.map((one) => ({ ...one, version: CAPA_VERSION }));
  const types: TypeEntry[] = [...typesIn(BUNDLED_KINDS), ...capa];
  const byKind = Map.groupBy(types, ({ kind }) => kind.toLowerCase());
  const at = current.indexOf("/");
  if (at < 0) {
    const served = new Set(await names.groups());
    const known = served.size === 0 ? types : types.filter(({ group }) => served.has(group));
    return { isOpen: true, candidates: known.map((type) => [`${nameOf(type, byKind)}/`, type.group]) };
  }
  const text = current.slice(0, at).toLowerCase();
  const [kind = "", ...group] = text.split(".");
  const meant = types.filter((type) => (
    [type.kind.toLowerCase(), pluralOf(type.kind)].includes(kind) && [type.group, ""].includes(group.join("."))
  ));
  const namespace = names.namespace ?? (await names.contexts()).namespace ?? DEFAULT_NAMESPACE;
  const lists = await Promise.all(meant.map((type) => names.in({ ...type, plural: pluralOf(type.kind), namespace })));
  return { candidates: lists.flat().map((name) => [current.slice(0, at + 1) + name]) };
}

/** Returns the shortest name of a kind that kubectl and `why` understand. */
function nameOf({ kind, group }: TypeEntry, byKind: ReadonlyMap<string, readonly TypeEntry[]>): string {
  const lower = kind.toLowerCase();
  return (byKind.get(lower)?.length ?? 0) > 1 ? `${lower}.${group}` : lower;
}
