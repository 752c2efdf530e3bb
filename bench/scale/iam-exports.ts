import { closeSync, openSync, writeSync } from "node:fs";
import { document, exportOf, roleDetail } from "../../test/shared/trust/iam-export.ts";
import { allow, type Fields, grant } from "../../test/shared/trust/trust-cases.ts";

/** The number of controllers in each account, which are its first roles. */
const CONTROLLERS = 5;

function accountAt(i: number): string {
  return String(100_000_000_000 + i);
}

function roleAt(account: number, i: number): string {
  return `arn:aws:iam::${accountAt(account)}:role/team/role-${i}`;
}

/**
 * Returns a role that the controllers of its own account and of the next one can assume. A controller can be assumed by
 * EKS and by the same controller of the next account.
 */
function denseRole(account: number, i: number, { accounts }: Size): Fields {
  const next = (account + 1) % accounts;
  const callers = i < CONTROLLERS ? [roleAt(next, i)] : Array.from({ length: CONTROLLERS }, (_, n) => (
    [roleAt(account, n), roleAt(next, n)]
  )).flat();
  const service = i < CONTROLLERS ? { Service: "pods.eks.amazonaws.com" } : {};
  const trust = allow({ AWS: callers, ...service }, { Action: ["sts:AssumeRole", "sts:TagSession"] });
  const other = grant({ Action: ["s3:Get*", "s3:List*"], Resource: `arn:aws:s3:::team-${account}-${i}/*` });
  const sts = grant({ Action: ["sts:AssumeRole", "sts:TagSession"], Resource: "arn:aws:iam::*:role/team/*" });
  const statements = i < CONTROLLERS ? [other, sts] : [other];
  return roleDetail(roleAt(account, i), document(trust), {
    RolePolicyList: [{ PolicyName: "team", PolicyDocument: document(...statements) }],
  });
}

interface Size {
  readonly accounts: number;
  readonly roles: number;
}

/** Writes an export for each account, and returns the paths. */
export function writeDenseExports(size: Size, pathOf: (name: string) => string): string[] {
  return Array.from({ length: size.accounts }, (_, account) => {
    const file = pathOf(`${accountAt(account)}.json`);
    const roles = Array.from({ length: size.roles }, (_role, i) => denseRole(account, i, size));
    writeInParts(file, [JSON.stringify(exportOf({ RoleDetailList: roles }), null, 4)]);
    return file;
  });
}

/** Writes an export of one account with at least so many bytes, and returns the ARN of a role. */
export function writeLargeExport(bytes: number, file: string): string {
  const size = { accounts: 1, roles: 100_000 };
  writeInParts(file, parts());
  return roleAt(0, 0);

  function* parts(): Generator<string> {
    const [head = "", tail = ""] = JSON.stringify(exportOf({ RoleDetailList: ["ROLES"] })).split('"ROLES"');
    yield head;
    let written = 0;
    for (let i = 0; written < bytes; i++) {
      const role = JSON.stringify(denseRole(0, i, size), null, 4);
      written += role.length;
      yield `${i === 0 ? "" : ","}${role}`;
    }
    yield tail;
  }
}

function writeInParts(file: string, parts: Iterable<string>): void {
  const descriptor = openSync(file, "w");
  for (const part of parts) writeSync(descriptor, part);
  closeSync(descriptor);
}
