import type { Runtime } from "../../shared/decisions/context.ts";
import { runtimeNotice } from "../../shared/decisions/runtime-notice.ts";
import { type IO, writeLines } from "../io.ts";

/** Writes a notice to stderr if shipped ACK controllers do not support `runtime`. */
export function writeRuntimeNotice(runtime: Runtime, io: IO): void {
  const notice = runtimeNotice(runtime);
  if (notice !== null) writeLines(io.stderr, [`warning: ${notice}`]);
}
