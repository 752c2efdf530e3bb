import { removedCheckNotices } from "./checks/removed-codes.ts";
import type { Runtime } from "./context.ts";

/** The notice for `--runtime extended`. */
export const EXTENDED_NOTICE = "--runtime extended: shipped ACK controllers do not support the additional selector "
  + "features, and can use other roles than this program; "
  + "set --runtime ack unless every controller supports these features";

export interface NoticedSettings {
  readonly runtime: Runtime;
  /** The values of `--check`; undefined if the command has no such flag. */
  readonly check?: readonly string[];
}

/** Returns the warnings that a program prints once at its start. */
export function startNotices({ runtime, check = [] }: NoticedSettings): readonly string[] {
  return [...(runtime === "extended" ? [EXTENDED_NOTICE] : []), ...removedCheckNotices(check)];
}
