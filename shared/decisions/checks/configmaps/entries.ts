import { ACCOUNT_MAP } from "../../annotation-keys.ts";
import { serviceOf } from "../../carm/maps.ts";
import { ACK_GROUPS } from "../../kubernetes/ack-groups.ts";
import { parseARN, roleARNFaults } from "../../kubernetes/arn.ts";
import { field, isJsonObject } from "../../kubernetes/json.ts";
import { closest, quote } from "../../kubernetes/text.ts";
import type { Fault, QuickCheck } from "../check.ts";
import { type ConfigMapChange, keyPath, valuesOfAnotherType } from "./change.ts";

/** `s3.111122223333` is the id 111122223333 for the service s3, and 111122223333 the id alone. */
export function keyParts(key: string): { readonly service: string | null; readonly id: string } {
  const dot = key.indexOf(".");
  return dot < 0 ? { service: null, id: key } : { service: key.slice(0, dot), id: key.slice(dot + 1) };
}

const SERVICES: ReadonlySet<string> = new Set(ACK_GROUPS.map(serviceOf));

export const CM_04: QuickCheck<ConfigMapChange> = {
  id: "CM-04",
  severity: "warn",
  waivable: false,
  reason: "Controllers look up their own service's name, a dot and the id, and then the id alone; a key with another name in front is found by none of them unless an id has just that form.",
  fix: "write ID or SERVICE.ID with a service of ACK, such as s3.111122223333",
  example: "data: {s4.111122223333: 'arn:aws:iam::111122223333:role/a'}",
  *find({ data, inventory }): Iterable<Fault> {
    const installed = new Set([...inventory.groups].map(serviceOf));
    for (const key of data.keys()) {
      const { id, service } = keyParts(key);
      if (service === null) continue;
      if (id === "") yield { path: keyPath(key), message: "the key has no id after the dot" };
      else if (!SERVICES.has(service) && !installed.has(service)) yield unknownService(key, service, id);
    }
  },
};

function unknownService(key: string, service: string, id: string): Fault {
  const meant = closest(service, SERVICES);
  const fix = meant === null ? {} : { fix: `write ${meant}.${id}, if that is the service` };
  return { path: keyPath(key), message: `${quote(service)} is no service of ACK`, ...fix };
}

export const CM_13: QuickCheck<ConfigMapChange> = {
  id: "CM-13",
  severity: "warn",
  waivable: false,
  reason: "Controllers look for keys of their own service only with their feature gate ServiceLevelCARM.",
  fix: "have the controllers run with ServiceLevelCARM, and say so with --service-level-carm, or remove the key",
  example: "data: {s3.111122223333: 'arn:aws:iam::111122223333:role/a'} # with --mode carm alone",
  *find({ data, settings }): Iterable<Fault> {
    if (settings.mode !== "carm" || settings.serviceLevelCARM) return;
    for (const key of data.keys()) {
      const { service } = keyParts(key);
      if (service !== null && SERVICES.has(service)) yield { path: keyPath(key), message: `the key is for ${service} alone, and ignored, since --service-level-carm is not on` };
    }
  },
};

/** `key: value`, a list, a map, or more lines than one: a document within the value, as one of the proposals for CARM had it. */
function isDocument(value: string): boolean {
  const text = value.trim();
  return text.includes("\n") || /:\s/.test(text) || /^([{[]|-\s)/.test(text);
}

export const CM_01: QuickCheck<ConfigMapChange> = {
  id: "CM-01",
  severity: "deny",
  waivable: false,
  deniesInCARM: true,
  reason: "Controllers take any text from the map, and every resource under the key then fails, or works in an account that nobody meant.",
  fix: "write the role's ARN as IAM shows it: arn:aws:iam::ACCOUNT:role/NAME",
  example: "data: {'111122223333': 'arn:aws:iam::111122223333:root'}",
  *find({ data }): Iterable<Fault> {
    for (const [key, value] of data) {
      if (value === "" || isDocument(value)) continue; // of which CM-02 and CM-05 speak
      const arn = parseARN(value);
      const faults = arn === null ? ["it is no ARN"] : roleARNFaults(value, arn);
      if (faults.length > 0) yield { path: keyPath(key), message: `${quote(value)} is not the ARN of an IAM role: ${faults.join("; ")}` };
    }
  },
};

export const CM_02: QuickCheck<ConfigMapChange> = {
  id: "CM-02",
  severity: "deny",
  waivable: false,
  deniesInCARM: true,
  reason: "Controllers stop every resource under a key that has no role.",
  fix: "write the role's ARN, or remove the key once nothing names it",
  example: "data: {'111122223333': ''}",
  *find({ data }): Iterable<Fault> {
    for (const [key, value] of data) if (value === "") yield { path: keyPath(key), message: "the key has no role" };
  },
};

export const CM_03: QuickCheck<ConfigMapChange> = {
  id: "CM-03",
  severity: "warn",
  waivable: false,
  reason: "Controllers work in the account of the role; a key that is another account's id misleads whoever reads it.",
  fix: "give the key a role of its account, or another name",
  example: "data: {'111122223333': 'arn:aws:iam::444455556666:role/b'}",
  *find({ data, name }): Iterable<Fault> {
    if (name !== ACCOUNT_MAP) return;
    for (const [key, value] of data) {
      const { id } = keyParts(key);
      const account = parseARN(value)?.accountID ?? "";
      if (!/^[0-9]{12}$/.test(id) || account === "" || account === id) continue;
      yield { path: keyPath(key), message: `the key is account ${id}, and its role is in account ${quote(account)}` };
    }
  },
};

export const CM_05: QuickCheck<ConfigMapChange> = {
  id: "CM-05",
  severity: "deny",
  waivable: false,
  deniesInCARM: true,
  reason: "Controllers take the whole value for one ARN, so a document within it is a role that cannot be.",
  fix: "write one key for each role, with a service in front where there are several: s3.111122223333",
  example: "data: {s3: '111122223333: arn:aws:iam::111122223333:role/a'}",
  *find({ data, object }): Iterable<Fault> {
    for (const key of valuesOfAnotherType(object)) yield { path: keyPath(key), message: "the value is not a text, as every value of a ConfigMap is" };
    for (const [key, value] of data) {
      if (isDocument(value)) yield { path: keyPath(key), message: "the value holds a document, and controllers take it for one ARN" };
    }
  },
};

export const CM_06: QuickCheck<ConfigMapChange> = {
  id: "CM-06",
  severity: "warn",
  waivable: false,
  reason: "Controllers read the map's data alone.",
  fix: "write the entry under data",
  example: "binaryData: {'111122223333': YXJuOmF3czppYW06OjExMTEyMjIyMzMzMzpyb2xlL2E=}",
  *find({ object }): Iterable<Fault> {
    const binary = field(object, "binaryData");
    if (!isJsonObject(binary)) return;
    for (const key of Object.keys(binary)) yield { path: ["binaryData", { key }], message: "controllers ignore what is in binaryData" };
  },
};
