import type { KnownUse } from "./model.ts";
import { roleName } from "./words.ts";

/** A column of the matrix: an account, one of its roles, or what has no account. */
export interface Column {
  /** Such as `account 111122223333` or `role ARN`; a part of the address of a cell. */
  readonly id: string;
  readonly kind: "none" | "own" | "unknown" | "account" | "role";
  /** The account; null in a column without one. */
  readonly account: string | null;
  readonly title: string;
  /** The ARN of the role in the column of a role; else "". */
  readonly arn: string;
}

const NONE: Column = { id: "none", kind: "none", account: null, title: "No role", arn: "" };
const OWN: Column = { id: "own", kind: "own", account: null, title: "Controller's own role", arn: "" };
const UNKNOWN: Column = { id: "unknown", kind: "unknown", account: null, title: "Other credentials", arn: "" };

/** Returns the column of a use. `accounts` are those that have a column for each role. */
export function columnOf({ reason, role }: Pick<KnownUse, "reason" | "role">, accounts: ReadonlySet<string>): Column {
  if (reason.outcome === "conflict" || reason.outcome === "refused") return NONE;
  if (reason.outcome === "default") return OWN;
  if (role === null) return UNKNOWN;
  const account = role.account ?? "no account";
  const { arn } = role;
  return accounts.has(account)
    ? { id: `role ${arn}`, kind: "role", account, title: roleName(arn), arn }
    : { id: `account ${account}`, kind: "account", account, title: account, arn: "" };
}

const ORDER: readonly Column["kind"][] = ["none", "own", "unknown", "account", "role"];

/** Returns each column once: what is wrong first, then the accounts in order, each with its roles in its place. */
export function sortedColumns(columns: Iterable<Column>): Column[] {
  const byID = new Map(Array.from(columns, (column) => [column.id, column]));
  const rank = ({ kind }: Column): number => Math.min(ORDER.indexOf(kind), ORDER.indexOf("account"));
  return [...byID.values()].toSorted((a, b) => (
    rank(a) - rank(b) || compare(a.account ?? "", b.account ?? "") || compare(a.title, b.title) || compare(a.id, b.id)
  ));
}

export function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
