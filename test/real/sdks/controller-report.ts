import type { ProgramResult } from "../../programs/run-program.ts";

/**
 * The results of all calls for one role: how many calls received each access key, the expiration of each access key,
 * and how often each error occurred.
 */
interface RoleReport {
  readonly sessions: Readonly<Record<string, number>>;
  readonly expirations: Readonly<Record<string, string>>;
  readonly errors: Readonly<Record<string, number>>;
}

interface ControllerReport {
  readonly identity?: { readonly account: string; readonly arn: string };
  /** By role ARN. */
  readonly roles: Readonly<Record<string, RoleReport>>;
}

/** Parses the output of the Go program. Throws if the program failed. */
export function readReport({ code, stdout, stderr }: ProgramResult): ControllerReport {
  if (code !== 0) throw new Error(`the controller exited with ${code}: ${stderr}`);
  return JSON.parse(stdout);
}

interface Totals {
  readonly served: number;
  readonly errors: Readonly<Record<string, number>>;
}

/** Returns the number of calls that received credentials, and how often each error occurred. */
export function totals({ roles }: ControllerReport): Totals {
  const all = Object.values(roles);
  const served = all.flatMap(({ sessions }) => Object.values(sessions)).reduce((sum, count) => sum + count, 0);
  return { served, errors: Object.fromEntries(all.flatMap(({ errors }) => Object.entries(errors))) };
}
