import { type DestinationStream, type Level, type Logger, pino, stdTimeFunctions, destination as toFile } from "pino";
import type { InventorySource } from "../inventory/source.ts";

export type { Logger } from "pino";

export interface LoggerOptions {
  /** The program: `webhook`, `sidecar`. */
  readonly name: string;
  readonly level?: Level | "silent";
  /** Where the lines go; default standard error, since standard output is for data. */
  readonly destination?: DestinationStream;
}

const STDERR = 2;

// A second line of defence: no code passes a credential to a logger, and these names would be emptied if one did.
const SECRET_FIELDS = ["authorization", "token", "secretAccessKey", "SecretAccessKey", "sessionToken", "SessionToken", "Token"];

/**
 * A logger of JSON lines: ISO time, the level by name, a constant sentence in `msg`, everything that varies in fields.
 * Lines are written synchronously, so that the last ones before an exit are never lost.
 */
export function createLogger(options: LoggerOptions): Logger {
  const { name, level = "info", destination = toFile({ dest: STDERR, sync: true }) } = options;
  return pino(
    {
      level,
      base: { name },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: SECRET_FIELDS.flatMap((field) => [field, `*.${field}`]), censor: "[redacted]" },
    },
    destination,
  );
}

/**
 * Logs when the inventory is loaded, when its view stops being current, with the reason, and when it is current again; a line for each
 * change of state, however often a source tries. Returns what ends it.
 */
export function logInventory(source: InventorySource, log: Logger): () => void {
  let loaded = false;
  let current = true;
  const look = (): void => {
    const { status, inventory } = source;
    if (status.loaded && !loaded) log.info({ selectors: inventory.selectors.size, malformed_selectors: inventory.malformed.size }, "inventory loaded");
    else if (status.fault === null && !current) log.info("inventory is current again");
    if (status.fault !== null && current) log.warn({ fault: status.fault }, status.loaded ? "inventory is not current; the last good view stays in force" : "inventory could not be read yet");
    loaded = status.loaded;
    current = status.fault === null;
  };
  look();
  return source.onChange(look);
}
