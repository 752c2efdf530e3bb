import { type NoticedSettings, startNotices } from "../../shared/decisions/start-notices.ts";
import { type IO, writeLines } from "../io.ts";

/** Writes the warnings about the settings of a command to stderr. */
export function writeStartNotices(settings: NoticedSettings, io: IO): void {
  writeLines(io.stderr, startNotices(settings).map((notice) => `warning: ${notice}`));
}
