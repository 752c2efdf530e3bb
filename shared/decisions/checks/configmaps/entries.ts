import { ACCOUNT_MAP } from "../../annotation-keys.ts";
import { serviceOf } from "../../carm/maps.ts";
import type { DecisionSettings } from "../../context.ts";
import { parseARN, roleARNFaults } from "../../kubernetes/arn.ts";
import { field, isJsonObject, type JsonObject } from "../../kubernetes/json.ts";
import { ACK_GROUPS } from "../../kubernetes/kinds.ts";
import { closest, quote } from "../../kubernetes/text.ts";
import type { Fault, QuickCheck } from "../check.ts";
import { type ConfigMapChange, dataPath } from "./change.ts";

export const CM_01: QuickCheck<ConfigMapChange> = {
  id: "CM-01",
  severity: "deny",
  waivable: false,
  deniesInCARM: true,
  reason: "Controllers do not validate the roles in the map. If a role is wrong, "
    + "every resource that uses its key fails or is managed in an unintended account.",
  fix: "write the role's ARN as IAM shows it: arn:aws:iam::ACCOUNT:role/NAME",
  example: "data: {'111122223333': 'arn:aws:iam::111122223333:root'}",
  *find({ data }): Iterable<Fault> {
    for (const [key, value] of data) {
      if (value === "" || isDocument(value)) continue; // CM-02 and CM-05 report empty values and documents.
      const arn = parseARN(value);
      const faults = arn === null ? ["it is not an ARN"] : roleARNFaults(value, arn);
      if (faults.length === 0) continue;
      yield { path: dataPath(key), message: `${quote(value)} is not the ARN of an IAM role: ${faults.join("; ")}` };
    }
  },
};

export const CM_02: QuickCheck<ConfigMapChange> = {
  id: "CM-02",
  severity: "deny",
  waivable: false,
  deniesInCARM: true,
  reason: "Controllers do not reconcile a resource whose key has no role in the map. With the feature gate "
    + "ServiceLevelCARM, controllers use the role of key `ID` if the value of key `SERVICE.ID` is empty.",
  fix: "set the value of the key to the role's ARN, or remove the key if no namespace annotation names it",
  example: "data: {'111122223333': ''}",
  *find({ data, settings }): Iterable<Fault> {
    for (const [key, value] of data) {
      if (value !== "") continue;
      const { service, id } = parseKey(key);
      const fallsThrough = settings.serviceLevelCARM && service !== null && id !== "";
      const effect = fallsThrough ? `, so controllers use the role of key ${quote(id)}` : "";
      yield { path: dataPath(key), message: `the key has no role${effect}` };
    }
  },
};

export const CM_03: QuickCheck<ConfigMapChange> = {
  id: "CM-03",
  severity: "warn",
  waivable: false,
  reason: "Controllers manage resources in the account of the role, "
    + "even if the key is the id of a different account. Such a key is misleading.",
  fix: "set a role in the account of the key, or rename the key",
  example: "data: {'111122223333': 'arn:aws:iam::444455556666:role/b'}",
  *find({ data, name }): Iterable<Fault> {
    if (name !== ACCOUNT_MAP) return;
    for (const [key, value] of data) {
      const { id } = parseKey(key);
      const account = parseARN(value)?.accountID ?? "";
      if (!/^[0-9]{12}$/.test(id) || account === "" || account === id) continue;
      const message = `the key names account ${id}, but its role is in account ${quote(account)}`;
      yield { path: dataPath(key), message };
    }
  },
};

export const CM_04: QuickCheck<ConfigMapChange> = {
  id: "CM-04",
  severity: "warn",
  waivable: false,
  reason: "A controller first looks up the key `SERVICE.ID`, where SERVICE is the controller's service, and then the "
    + "key `ID`. If the part before the dot is not an ACK service, controllers find the key only if the whole key is "
    + "an account or team ID. With --service-level-carm, the sidecar grants no role for such a key.",
  fix: "write ID, or SERVICE.ID where SERVICE is an ACK service, such as s3.111122223333",
  example: "data: {s4.111122223333: 'arn:aws:iam::111122223333:role/a'}",
  *find({ data, inventory, settings }): Iterable<Fault> {
    const installed = new Set([...inventory.kinds.groups].map(serviceOf));
    for (const key of data.keys()) {
      const { id, service } = parseKey(key);
      if (service === null) continue;
      if (id === "") yield { path: dataPath(key), message: "the key has no id after the dot" };
      else if (!SERVICES.has(service) && !installed.has(service)) {
        yield unknownServiceFault(key, { service, id }, settings);
      }
    }
  },
};

const SERVICES: ReadonlySet<string> = new Set(ACK_GROUPS.map(serviceOf));

function unknownServiceFault(
  key: string, { service, id }: { readonly service: string; readonly id: string }, settings: DecisionSettings,
): Fault {
  const meant = closest(service, SERVICES);
  const fix = meant === null ? {} : { fix: `write ${meant}.${id} if you meant the service ${meant}` };
  const isDenied = settings.mode === "carm" && settings.serviceLevelCARM;
  const effect = isDenied ? ", so the sidecar grants no role for the key" : "";
  return { path: dataPath(key), message: `${quote(service)} is not an ACK service${effect}`, ...fix };
}

/**
 * Splits a key into service and ID: `s3.111122223333` into s3 and 111122223333. The key `111122223333` has no service.
 */
export function parseKey(key: string): { readonly service: string | null; readonly id: string } {
  const dot = key.indexOf(".");
  return dot < 0 ? { service: null, id: key } : { service: key.slice(0, dot), id: key.slice(dot + 1) };
}

export const CM_05: QuickCheck<ConfigMapChange> = {
  id: "CM-05",
  severity: "deny",
  waivable: false,
  deniesInCARM: true,
  reason: "Controllers parse the whole value as one ARN, so a YAML or JSON document is never a valid value.",
  fix: "write one key for each role. If services use different roles, "
    + "start each key with the service: s3.111122223333",
  example: "data: {s3: '111122223333: arn:aws:iam::111122223333:role/a'}",
  *find({ data, object }): Iterable<Fault> {
    for (const key of nonStringKeys(object)) {
      yield { path: dataPath(key), message: "the value is not a string, which a ConfigMap requires" };
    }
    for (const [key, value] of data) {
      if (!isDocument(value)) continue;
      const message = "the value looks like YAML or JSON, but controllers parse the whole value as one ARN";
      yield { path: dataPath(key), message };
    }
  },
};

/** Returns the keys of `data` whose values are not strings. The API server rejects such values. */
function nonStringKeys(object: JsonObject): string[] {
  const data = field(object, "data");
  return isJsonObject(data) ? Object.keys(data).filter((key) => typeof data[key] !== "string") : [];
}

/** Returns whether the value is `key: value`, a list, a map or several lines. A proposal for CARM used such values. */
function isDocument(value: string): boolean {
  const text = value.trim();
  return text.includes("\n") || /:\s/.test(text) || /^([{[]|-\s)/.test(text);
}

export const CM_06: QuickCheck<ConfigMapChange> = {
  id: "CM-06",
  severity: "warn",
  waivable: false,
  reason: "Controllers read only the field data of the map, not binaryData.",
  fix: "move the entry from binaryData to data",
  example: "binaryData: {'111122223333': YXJuOmF3czppYW06OjExMTEyMjIyMzMzMzpyb2xlL2E=}",
  *find({ object }): Iterable<Fault> {
    const binary = field(object, "binaryData");
    if (!isJsonObject(binary)) return;
    for (const key of Object.keys(binary)) {
      yield { path: ["binaryData", { key }], message: "controllers ignore the entries of binaryData" };
    }
  },
};

export const CM_13: QuickCheck<ConfigMapChange> = {
  id: "CM-13",
  severity: "warn",
  waivable: false,
  reason: "Controllers look up keys of the form SERVICE.ID only if the feature gate ServiceLevelCARM is enabled.",
  fix: "enable the feature gate ServiceLevelCARM on the controllers and set --service-level-carm, or remove the key",
  example: "data: {s3.111122223333: 'arn:aws:iam::111122223333:role/a'} # with --mode carm alone",
  *find({ data, settings }): Iterable<Fault> {
    if (settings.mode !== "carm" || settings.serviceLevelCARM) return;
    for (const key of data.keys()) {
      const { service } = parseKey(key);
      if (service === null || !SERVICES.has(service)) continue;
      const message = `controllers ignore this key of service ${service}, because --service-level-carm is off`;
      yield { path: dataPath(key), message };
    }
  },
};
