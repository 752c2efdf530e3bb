import { ACCOUNT_MAP } from "../carm.ts";
import { field, isJsonObject } from "../json.ts";
import { quote } from "../quote.ts";
import { parseARN, roleARNFaults } from "../role-arn.ts";
import type { Check, Fault } from "./check.ts";
import { type ConfigMapChange, keyPath, valuesOfAnotherType } from "./config-map-change.ts";
import { keyParts } from "./config-map-keys.ts";

/** `key: value`, a list, a map, or more lines than one: a document within the value, as one of the proposals for CARM had it. */
function isDocument(value: string): boolean {
  const text = value.trim();
  return text.includes("\n") || /:\s/.test(text) || /^([{[]|-\s)/.test(text);
}

export const CM_01: Check<ConfigMapChange> = {
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

export const CM_02: Check<ConfigMapChange> = {
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

export const CM_03: Check<ConfigMapChange> = {
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

export const CM_05: Check<ConfigMapChange> = {
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

export const CM_06: Check<ConfigMapChange> = {
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
