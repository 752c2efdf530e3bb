import { ACCOUNT_MAP, TEAM_MAP } from "../core/annotation-keys.ts";
import type { DecisionSettings } from "../core/context.ts";
import { by, remove, rename, type Repair, repairsOf, safely, set } from "../core/repair.ts";
import { ACCOUNT_ID, accountOfARN, parseRoleARN } from "../formats/arn.ts";
import { roleRepairs } from "../core/role-repairs.ts";
import { field, type FieldPath, isJsonObject, type JsonObject, stringMap } from "../formats/json.ts";
import { ACK_GROUPS, serviceOf } from "../core/ack-groups.ts";
import { closest } from "../formats/nearest.ts";
import { quote } from "../formats/text.ts";
import type { CheckContext, CheckInput, Fault, QuickCheck } from "../core/check.ts";
import { ROLE_ARN } from "../core/value-types.ts";
import { namespaceOrDefault, objectReference } from "../formats/object-meta.ts";
import { plainScalar, scalarKey } from "../formats/yaml-scalars.ts";

const DOCUMENT_FIX = "write one key for each role. If services use different roles, start each key with the service: "
  + "s3.111122223333";

export const CM_01: QuickCheck<ConfigMapChange> = {
  id: "CM-01",
  severity: "deny",
  deniesInCARM: true,
  reason: "Controllers do not validate the roles in the map: they parse each value as one ARN. If a role is wrong, "
    + "every resource that uses its key fails or is managed in an unintended account. Controllers do not reconcile a "
    + "resource whose key has no role. With the feature gate ServiceLevelCARM, they use the role of key `ID` if the "
    + "value of key `SERVICE.ID` is empty.",
  fix: "write the role's ARN as IAM shows it: arn:aws:iam::ACCOUNT:role/NAME",
  example: "data: {'111122223333': 'arn:aws:iam::111122223333:root'}",
  *find(change): Iterable<Fault> {
    const { data, name, object, settings } = change;
    for (const key of nonStringKeys(object)) {
      const message = "the value is not a string, which a ConfigMap requires";
      yield { path: dataPath(key), message, fix: DOCUMENT_FIX };
    }
    for (const [key, value] of data) {
      const fault = value === "" ? emptyFault(key, settings) : roleFault(value) ?? accountFault(name, key, value);
      if (fault !== null) yield { path: dataPath(key), ...fault, ...repairsOf(valueRepairs(change, key, value)) };
    }
  },
};

type ValueFault = Omit<Fault, "path">;

/** Returns the repairs of a value that is not the ARN of a role: the role that is meant, or the one before. */
function valueRepairs({ stored }: ConfigMapChange, key: string, value: string): readonly Repair[] {
  const [path, old = ""] = [dataPath(key), stored.get(key)];
  // The role of a valid value is in another account than that of its key.
  const near = parseRoleARN(value) === null ? roleRepairs(path, value) : [];
  if (near.length > 0 || parseRoleARN(value) !== null) return near;
  const kept = parseRoleARN(old) === null ? [] : [{ when: "to keep the role", edits: [set(path, old)] }];
  const removed = value === "" ? [{ when: "if no namespace annotation names the key", edits: [remove(path)] }] : [];
  return [...kept, ...removed];
}

function emptyFault(key: string, { serviceLevelCARM }: DecisionSettings): ValueFault {
  const { service, id } = parseKey(key);
  const fallsThrough = serviceLevelCARM && service !== null && id !== "";
  return {
    message: `the key has no role${fallsThrough ? `, so controllers use the role of key ${quote(id)}` : ""}`,
    fix: "set the value of the key to the role's ARN, or remove the key if no namespace annotation names it",
  };
}

function roleFault(value: string): ValueFault | null {
  if (isDocument(value)) {
    const message = "the value looks like YAML or JSON, but controllers parse the whole value as one ARN";
    return { message, fix: DOCUMENT_FIX };
  }
  const faults = ROLE_ARN.faults(value);
  if (faults.length === 0) return null;
  return { message: `${quote(value)} is not the ARN of an IAM role: ${faults.join("; ")}` };
}

/** Returns whether the value is `key: value`, a list, a map or several lines. A proposal for CARM used such values. */
function isDocument(value: string): boolean {
  const text = value.trim();
  return text.includes("\n") || /:\s/.test(text) || /^([{[]|-\s)/.test(text);
}

/** Warns if the key is the ID of another account than that of the role, which controllers use. */
function accountFault(map: string, key: string, role: string): ValueFault | null {
  const { id } = parseKey(key);
  const account = String(accountOfARN(role));
  if (map !== ACCOUNT_MAP || !ACCOUNT_ID.test(id) || account === id) return null;
  const message = `the key names account ${id}, but its role is in account ${quote(account)}`;
  return { message, fix: "set a role in the account of the key, or rename the key", severity: "warn" };
}

/** Returns the keys of `data` whose values are not strings. The API server rejects such values. */
function nonStringKeys(object: JsonObject): string[] {
  const data = field(object, "data");
  return isJsonObject(data) ? Object.keys(data).filter((key) => typeof data[key] !== "string") : [];
}

export const CM_04: QuickCheck<ConfigMapChange> = {
  id: "CM-04",
  severity: "warn",
  reason: "A controller first looks up the key `SERVICE.ID`, where SERVICE is the controller's service, and then the "
    + "key `ID`. If the part before the dot is not an ACK service, controllers find the key only if the whole key is "
    + "an account or team ID. With --service-level-carm, the sidecar grants no role for such a key. Controllers read "
    + "only the field data of the map, not binaryData.",
  fix: "write ID, or SERVICE.ID where SERVICE is an ACK service, such as s3.111122223333",
  example: "data: {s4.111122223333: 'arn:aws:iam::111122223333:role/a'}",
  *find({ data, inventory, object, settings }): Iterable<Fault> {
    const binary = field(object, "binaryData");
    for (const key of isJsonObject(binary) ? Object.keys(binary) : []) {
      const message = "controllers ignore the entries of binaryData";
      yield { path: ["binaryData", { key }], message, fix: "move the entry from binaryData to data" };
    }
    const installed = new Set([...inventory.kinds.groups].map(serviceOf));
    for (const key of data.keys()) {
      const { id, service } = parseKey(key);
      if (service === null || isFloatKey(key)) continue;
      if (id === "") {
        const [path, message] = [dataPath(key), "the key has no id after the dot"];
        yield { path, message, fix: CM_04.fix, repairs: by(remove(path)) };
      }
      else if (!SERVICES.has(service) && !installed.has(service)) {
        yield unknownServiceFault(key, { service, id }, { data, settings });
      }
    }
  },
};

const SERVICES: ReadonlySet<string> = new Set(ACK_GROUPS.map(serviceOf));

function unknownServiceFault(
  key: string, { service, id }: { readonly service: string; readonly id: string },
  { data, settings }: Pick<ConfigMapChange, "data" | "settings">,
): Fault {
  const meant = closest(service, SERVICES);
  const path = dataPath(key);
  const renamed = `${meant}.${id}`;
  const isFree = meant !== null && !data.has(renamed);
  const repairs = isFree ? by(...rename(path, { key: renamed }, data.get(key))) : [];
  const isDenied = settings.mode === "carm" && settings.serviceLevelCARM;
  const effect = isDenied ? ", so the sidecar grants no role for the key" : "";
  const fix = isFree ? { fix: `write ${renamed} if you meant the service ${meant}` } : {};
  return { path, message: `${quote(service)} is not an ACK service${effect}`, ...fix, ...repairsOf(repairs) };
}

/**
 * Splits a key into service and ID: `s3.111122223333` into s3 and 111122223333. The key `111122223333` has no service.
 */
export function parseKey(key: string): { readonly service: string | null; readonly id: string } {
  const dot = key.indexOf(".");
  return dot < 0 ? { service: null, id: key } : { service: key.slice(0, dot), id: key.slice(dot + 1) };
}

const FLOAT_KEY = /^(?:-?[0-9](?:\.[0-9]+)?e[-+][0-9]{2,}|-?\.inf|\.nan)$/;

/** Whether the key has a form that kubectl gives only to a number, such as `9.876543e+10`. CM-16 reports it. */
export function isFloatKey(key: string): boolean {
  return FLOAT_KEY.test(key);
}

export const CM_12: QuickCheck<ConfigMapChange> = {
  id: "CM-12",
  severity: "warn",
  reason: "Controllers read the team map, and keys of the form SERVICE.ID, only with the feature gates for them.",
  fix: "enable the feature gate TeamLevelCARM on the controllers and set --team-level-carm",
  example: "metadata: {name: ack-role-team-map} # with --mode carm alone",
  *find({ data, name, settings }): Iterable<Fault> {
    if (settings.mode !== "carm") return;
    if (name === TEAM_MAP && !settings.teamLevelCARM) {
      const message = "controllers ignore the team map, because --team-level-carm is off";
      yield { path: ["metadata", "name"], message };
    }
    for (const key of settings.serviceLevelCARM ? [] : data.keys()) {
      const { service } = parseKey(key);
      if (service === null || !SERVICES.has(service)) continue;
      const message = `controllers ignore this key of service ${service}, because --service-level-carm is off`;
      yield { path: dataPath(key), message, fix: SERVICE_LEVEL_FIX };
    }
  },
};

const SERVICE_LEVEL_FIX = "enable the feature gate ServiceLevelCARM on the controllers and set --service-level-carm, "
  + "or remove the key";

/** A change of a CARM ConfigMap: the account map or the team map. */
export interface ConfigMapChange extends CheckContext {
  /** The ConfigMap after the change; at DELETE the deleted ConfigMap. */
  readonly object: JsonObject;
  /** The namespace of the ConfigMap. If a manifest sets no namespace, the namespace is "default", as with kubectl. */
  readonly namespace: string;
  readonly name: string;
  /** The data of the ConfigMap after the change; empty at DELETE. */
  readonly data: ReadonlyMap<string, string>;
  /** The data of the ConfigMap before the change; empty at CREATE. */
  readonly stored: ReadonlyMap<string, string>;
}

/** Returns the change that the ConfigMap checks examine. */
export function configMapChange(
  { object, old }: Pick<CheckInput, "object" | "old">, context: CheckContext,
): ConfigMapChange {
  const { name, namespace } = objectReference(object);
  const isDeletion = context.operation === "DELETE";
  const stored = isDeletion ? object : old;
  return {
    ...context, object, name, namespace: namespaceOrDefault(namespace),
    data: isDeletion ? new Map() : dataOf(object),
    stored: stored === null ? new Map() : dataOf(stored),
  };
}

function dataOf(object: JsonObject): ReadonlyMap<string, string> {
  return stringMap(field(object, "data"));
}

/** Returns whether controllers read the ConfigMap. Controllers read only ConfigMaps in their own namespace. */
export function isReadByControllers({ namespace, settings }: ConfigMapChange): boolean {
  return namespace === settings.ackSystemNamespace;
}

/** Returns the path of a key of `data`. */
export function dataPath(key: string): FieldPath {
  return ["data", { key }];
}

export const CM_16: QuickCheck<ConfigMapChange> = {
  id: "CM-16",
  severity: "deny",
  deniesInCARM: true,
  reason: "YAML reads a key without quotes as a number or a boolean if it looks like one, and kubectl writes this "
    + "value as the key. An account id that starts with 0 becomes another number, so controllers find no role for it.",
  fix: "put the key in quotes",
  example: "data: {012345670123: 'arn:aws:iam::012345670123:role/a'} # YAML reads the key as 1402433619",
  *find({ data, name }): Iterable<Fault> {
    for (const [key, value] of data) {
      const account = accountOfARN(value) ?? "";
      const fault = quotesFault(key, { map: name, account });
      if (fault === null) continue;
      const path = dataPath(key);
      const isLost = isNumber(key, account) && !data.has(account);
      yield { path, ...fault, ...(isLost && { repairs: safely(...rename(path, { key: account }, value)) }) };
    }
  },
};

/** Whether the key is the number as which YAML, or a tool that drops zeros, reads the account. */
function isNumber(key: string, account: string): boolean {
  if (key === account || !ACCOUNT_ID.test(account)) return false;
  return scalarKey(plainScalar(account)) === key || key.padStart(account.length, "0") === account;
}

function quotesFault(
  key: string, { map, account }: { readonly map: string; readonly account: string },
): Omit<Fault, "path"> | null {
  const number = `the key is the number ${key}`;
  if (key !== account && ACCOUNT_ID.test(account) && scalarKey(plainScalar(account)) === key) {
    return { message: `${number}, as which YAML reads ${account}`, fix: `put the key in quotes: "${account}"` };
  }
  if (isFloatKey(key)) return { message: `${number}, not a text` };
  const words = WORDS.get(key);
  if (words !== undefined) {
    return { message: `the key is ${key}, as which YAML also reads ${words}`, severity: "warn" };
  }
  // The key may be a text, because a key need not be an account id.
  if (map !== ACCOUNT_MAP || !/^[0-9]+$/.test(key) || ACCOUNT_ID.test(key)) return null;
  const message = `${number}, but an account id has 12 digits`;
  return { message, fix: "put the 12 digits of the account id in quotes", severity: "warn" };
}

const WORDS: ReadonlyMap<string, string> = new Map([["true", "y, yes and on"], ["false", "n, no and off"]]);
