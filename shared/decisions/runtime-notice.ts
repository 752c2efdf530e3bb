import type { Runtime } from "./context.ts";

/** The notice for `--runtime extended`. */
export const EXTENDED_NOTICE = "--runtime extended: shipped ACK controllers do not support the additional selector "
  + "features, and can use other roles than this program; "
  + "set --runtime ack unless every controller supports these features";

/** Returns the notice that a program prints once at its start, or null if shipped controllers support the runtime. */
export function runtimeNotice(runtime: Runtime): string | null {
  return runtime === "extended" ? EXTENDED_NOTICE : null;
}
