import { OUTCOMES, type Resolution } from "../../shared/core/resolution.ts";
import { ACCOUNT, NAMESPACE, OBJECT_NAME, type Pattern } from "../../shared/core/setting-definition.ts";
import { namespaceOf } from "../../shared/files/object-key.ts";
import { ResolverError } from "../../shared/formats/errors.ts";
import { type JsonObject, stringAt } from "../../shared/formats/json.ts";
import { objectReference } from "../../shared/formats/object-meta.ts";
import { printable, quote } from "../../shared/formats/text.ts";
import type { State, StateObject } from "./state.ts";

/** What a row is about. */
interface Subject {
  readonly namespace: string;
  readonly group: string;
  readonly kind: string;
  readonly labelOf: (key: string) => string | null;
}

type Role = Pick<Resolution, "accountID" | "selectors" | "outcome">;

/** For each field of an object, whether the object has a value. */
const OF_OBJECTS = {
  namespace: ({ namespace }: Subject, value: string): boolean => namespace === value,
  kind: ({ kind, group }: Subject, value: string): boolean => value === kind || value === `${kind}.${group}`,
  label({ labelOf }: Subject, value: string): boolean {
    const at = value.indexOf("=");
    return labelOf(value.slice(0, at)) === value.slice(at + 1);
  },
};

/** For each field of a resolution, whether the resolution has a value. */
const OF_ROLES = {
  account: ({ accountID }: Role, value: string): boolean => accountID === value,
  selector: ({ selectors }: Role, value: string): boolean => selectors.some(({ name }) => name === value),
  outcome: ({ outcome }: Role, value: string): boolean => outcome === value,
};

type ObjectField = keyof typeof OF_OBJECTS;
type RoleField = keyof typeof OF_ROLES;
type Field = ObjectField | RoleField;

const VALUES: Readonly<Record<Field, Pattern>> = {
  namespace: NAMESPACE,
  kind: { regexp: "^[A-Z][^=]*$", meaning: "a kind, such as Bucket or Bucket.s3.services.k8s.aws" },
  label: { regexp: "^[^=]+=", meaning: "KEY=VALUE, as in label=tier=gold" },
  account: ACCOUNT,
  selector: OBJECT_NAME,
  outcome: { regexp: `^(${OUTCOMES.join("|")})$`, meaning: `one of ${OUTCOMES.join(", ")}` },
};

/** The fields of the rows of commands. */
export const CHECK_FIELDS: readonly Field[] = ["namespace", "kind", "label"];
export const CHANGE_FIELDS: readonly Field[] = ["namespace", "kind", "account", "selector", "outcome"];
export const ROLE_FIELDS: readonly Field[] = ["account", "selector", "outcome"];
export const RESOURCE_FIELDS: readonly Field[] = [...CHECK_FIELDS, ...ROLE_FIELDS];

interface FilterSettings {
  readonly only: readonly string[];
  readonly namespace: string | null;
  readonly cluster: boolean;
}

/** Which rows a command reports: those that --only selects and, of a cluster, those of --namespace. */
export class Only {
  /** Values of one field, or of one label, are alternatives. A row must have a value of each field. */
  readonly #objects: readonly (readonly (readonly [ObjectField, string])[])[];
  readonly #roles: readonly (readonly (readonly [RoleField, string])[])[];
  /** The flags; "" if every row is reported. */
  readonly #text: string;

  /** @throws ResolverError ERR_CONFIG_INVALID if --only names a field that rows lack, or an invalid value. */
  constructor({ only, namespace, cluster }: FilterSettings, fields: readonly Field[]) {
    const conditions = conditionsOf(only, fields);
    const ofNamespace = cluster && namespace !== null ? [["namespace", namespace] as const] : [];
    const groups = [...Map.groupBy(conditions, ([field, value]) => (
      field === "label" ? `label=${value.slice(0, value.indexOf("="))}` : field
    )).values(), ...ofNamespace.map((one) => [one])];
    this.#objects = groups.map((group) => group.filter(isOfObject)).filter((group) => group.length > 0);
    this.#roles = groups.map((group) => group.filter(isOfRole)).filter((group) => group.length > 0);
    const texts = [...only.map((text) => `--only ${text}`), ...ofNamespace.map(([, value]) => `--namespace ${value}`)];
    this.#text = printable(texts.join(" "));
  }

  #hasObject(object: JsonObject): boolean {
    const { group, kind } = objectReference(object);
    const labelOf = (key: string): string | null => stringAt(object, "metadata", "labels", key);
    return this.hasSubject({ group, kind, namespace: namespaceOf(object), labelOf });
  }

  hasSubject(subject: Subject): boolean {
    return this.#objects.every((group) => group.some(([field, value]) => OF_OBJECTS[field](subject, value)));
  }

  /** Whether one of the resolutions of a row is selected. */
  hasRole(roles: readonly Role[]): boolean {
    return roles.some((role) => (
      this.#roles.every((group) => group.some(([field, value]) => OF_ROLES[field](role, value)))
    ));
  }

  get isSet(): boolean {
    return this.#text !== "";
  }

  objectsOf({ objects }: Pick<State, "objects">): readonly StateObject[] {
    return this.isSet ? objects.filter(({ object }) => this.#hasObject(object)) : objects;
  }

  /** Returns a line if the filter selects none of the rows. */
  unmatchedLines(shown: number, row: string): readonly string[] {
    return this.isSet && shown === 0 ? [`${this.#text} matches no ${row}`] : [];
  }

  noObjectLines(states: readonly State[]): readonly string[] {
    return this.unmatchedLines(states.flatMap((state) => this.objectsOf(state)).length, "object");
  }
}

function conditionsOf(only: readonly string[], fields: readonly Field[]): (readonly [Field, string])[] {
  const faults: string[] = [];
  const conditions = only.flatMap((text) => {
    const at = text.indexOf("=");
    const [name, value] = [text.slice(0, Math.max(at, 0)), text.slice(at + 1)];
    const field = fields.find((one) => one === name);
    const expected = field === undefined
      ? `FIELD=VALUE, where FIELD is one of ${fields.join(", ")}`
      : VALUES[field].meaning;
    if (field !== undefined && new RegExp(VALUES[field].regexp).test(value)) return [[field, value] as const];
    faults.push(`--only ${quote(text)}: expected ${expected}`);
    return [];
  });
  if (faults.length > 0) throw new ResolverError("ERR_CONFIG_INVALID", faults.join("\n"));
  return conditions;
}

function isOfObject(condition: readonly [Field, string]): condition is readonly [ObjectField, string] {
  return Object.hasOwn(OF_OBJECTS, condition[0]);
}

function isOfRole(condition: readonly [Field, string]): condition is readonly [RoleField, string] {
  return Object.hasOwn(OF_ROLES, condition[0]);
}
