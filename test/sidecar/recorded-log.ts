import { createLogger } from "../../shared/server/logger.ts";

/** A log that keeps its lines. */
export class RecordedLog {
  /** The lines as they are written. */
  readonly texts: string[] = [];
  /** The lines as objects. */
  readonly lines: Record<string, unknown>[] = [];
  readonly log = createLogger({ name: "sidecar", level: "trace", destination: { write: (text) => this.#write(text) } });

  #write(text: string): void {
    this.texts.push(text);
    this.lines.push(JSON.parse(text));
  }
}
