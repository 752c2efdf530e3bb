import type { ProgramResult } from "../apiserver/run-program.ts";

/** What became of one role: how many got each access key, until when each is said to live, and how often each error was met. */
export interface RoleReport {
  readonly sessions: Readonly<Record<string, number>>;
  readonly expirations: Readonly<Record<string, string>>;
  readonly errors: Readonly<Record<string, number>>;
}

export interface ControllerReport {
  readonly identity?: { readonly account: string; readonly arn: string };
  /** By role ARN. */
  readonly roles: Readonly<Record<string, RoleReport>>;
}

/** Reads what the Go program printed. Throws with its error when it failed. */
export function readReport({ code, stdout, stderr }: ProgramResult): ControllerReport {
  if (code !== 0) throw new Error(`the controller ended with ${code}: ${stderr}`);
  return JSON.parse(stdout);
}

/** How many calls got credentials, and every error with its count. */
export function totals({ roles }: ControllerReport): { readonly served: number; readonly errors: Readonly<Record<string, number>> } {
  const all = Object.values(roles);
  const served = all.flatMap(({ sessions }) => Object.values(sessions)).reduce((sum, count) => sum + count, 0);
  return { served, errors: Object.fromEntries(all.flatMap(({ errors }) => Object.entries(errors))) };
}
