import { IAMData } from "../../../shared/trust/iam-data.ts";
import { IAMFile } from "../../../shared/trust/iam-inputs.ts";
import { parseSubject } from "../../../shared/trust/iam-reader.ts";
import type { Fields } from "./trust-cases.ts";

export function document(...statements: readonly Fields[]): Fields {
  return { Version: "2012-10-17", Statement: statements };
}

/** Returns a role as get-account-authorization-details prints it. */
export function roleDetail(arn: string, trust: unknown, fields: Fields = {}): Fields {
  const name = arn.slice(arn.lastIndexOf("/") + 1);
  return {
    Path: "/", RoleName: name, RoleId: `AROAEXAMPLE${name.toUpperCase()}`, Arn: arn, AssumeRolePolicyDocument: trust,
    RolePolicyList: [], AttachedManagedPolicies: [], ...fields,
  };
}

/** Returns a complete export with lists that replace the empty ones. */
export function exportOf(lists: Fields): Fields {
  return { UserDetailList: [], GroupDetailList: [], RoleDetailList: [], Policies: [], ...lists };
}

/** A file, or a pair with what it describes. */
export type InputFile = Fields | readonly [subject: string, file: Fields];

/** Reads files, which are named `file 1` and so on. */
export function dataOf(...files: readonly InputFile[]): IAMData {
  const data = new IAMData();
  for (const [i, one] of files.entries()) {
    const [subject, file] = isPair(one) ? one : ["", one];
    const reading = new IAMFile({ data, file: `file ${i + 1}`, subject: parseSubject(subject) });
    for (const [key, value] of Object.entries(file)) {
      const list: readonly unknown[] = Array.isArray(value) ? value : [];
      for (const [index, item] of list.entries()) reading.add({ key, index, value: item });
      reading.add({ key, index: null, value: Array.isArray(value) ? [] : value });
    }
    reading.finish();
  }
  data.finish();
  return data;
}

function isPair(file: InputFile): file is readonly [string, Fields] {
  return Array.isArray(file);
}
