import { closeSync, openSync, writeSync } from "node:fs";
import { document, exportOf, roleDetail } from "../../test/shared/trust/iam-export.ts";
import { allow, type Fields, grant } from "../../test/shared/trust/trust-cases.ts";

/** The number of roles of its own account, and of the next one, that each role trusts. */
const TRUSTED = 5;

function accountAt(i: number): string {
  return String(100_000_000_000 + i);
}

function roleAt(account: number, i: number): string {
  return `arn:aws:iam::${accountAt(account)}:role/team/role-${i}`;
}

/** Returns a role that trusts ten others, any of which its own policies let it assume. */
function denseRole(account: number, i: number, { accounts, roles }: Size): Fields {
  const next = (account + 1) % accounts;
  const aws = Array.from({ length: TRUSTED }, (_, n) => [account, next].map((one) => (
    roleAt(one, (i * 7 + n * 31 + 1) % roles)
  ))).flat();
  const trust = allow({ AWS: aws }, { Condition: { StringEquals: { "sts:ExternalId": `team-${account}-${i}` } } });
  const others = ["s3", "sqs", "dynamodb"].map((service) => grant({
    Action: [`${service}:Get*`, `${service}:List*`], Resource: `arn:aws:${service}:*:${accountAt(account)}:team-${i}/*`,
  }));
  const sts = grant({ Action: ["sts:AssumeRole", "sts:TagSession"], Resource: "arn:aws:iam::*:role/team/*" });
  return roleDetail(roleAt(account, i), document(trust), {
    RolePolicyList: [{ PolicyName: "team", PolicyDocument: document(...others, sts) }],
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
