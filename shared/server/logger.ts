import type { SelectorCounts } from "./metrics.ts";
import { type DestinationStream, type Level, type Logger, pino, destination as toFile } from "pino";
import { unknownGroups } from "../core/ack-groups.ts";
import { type DecisionSettings, startNotices } from "../core/context.ts";
import { withoutCommands } from "../formats/text.ts";
import type { InventorySource } from "../sources/source.ts";

export type { Logger } from "pino";

interface LoggerOptions {
  /** The program that logs: `webhook` or `sidecar`. */
  readonly name: string;
  readonly level?: Level | "silent";
  /** The output of the logger. The default output is standard error, because standard output is for data. */
  readonly destination?: DestinationStream;
}

const STDERR = 2;

/**
 * Writes each line at once, so that an exit or a kill loses none. Drops a line that cannot be written, for example to a
 * full disk, because an error would stop the server or change its response.
 */
export class LogOutput implements DestinationStream {
  readonly #fd: number;
  #file: DestinationStream;

  constructor(fd = STDERR) {
    this.#fd = fd;
    this.#file = toFile({ dest: fd, sync: true });
  }

  write(line: string): void {
    try {
      this.#file.write(line);
    } catch {
      // The old stream would keep the line in memory, and write a part of it again.
      this.#file = toFile({ dest: this.#fd, sync: true });
    }
  }
}

const SECRET_FIELDS: ReadonlySet<string> = new Set([
  "authorization", "token", "secretAccessKey", "SecretAccessKey", "sessionToken", "SessionToken", "Token",
]);
const SECRET_FIELD = new RegExp(`"(?:${[...SECRET_FIELDS].join("|")})":`);

/**
 * Redacts secret fields at any depth. This is a second layer of defense: no code logs a credential. Escapes commands to
 * a CI runner, which shows the log of a server that a test starts.
 */
function redacted(line: string): string {
  return withoutCommands(SECRET_FIELD.test(line) ? `${JSON.stringify(JSON.parse(line), censored)}\n` : line);
}

function censored(key: string, value: unknown): unknown {
  return SECRET_FIELDS.has(key) ? "[redacted]" : value;
}

/**
 * Returns a logger that writes JSON lines. Each line has an ISO time, a level name and a constant `msg`. The other
 * fields of a line contain the variable data.
 */
export function createLogger(options: LoggerOptions): Logger {
  const { name, level = "info", destination = new LogOutput() } = options;
  return pino(
    {
      level,
      base: { name },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      hooks: { streamWrite: redacted },
    },
    destination,
  );
}

/**
 * Logs when the inventory is loaded, becomes stale or becomes current again. Logs one line for each change of state,
 * not for each retry. The returned function stops the logging.
 */
export function logInventory(source: InventorySource, log: Logger, selectorsOf: () => SelectorCounts): () => void {
  let wasLoaded = false;
  let wasCurrent = true;
  const logChange = (): void => {
    const { loaded, fault } = source.status;
    const selectors = selectorsOf();
    if (loaded && !wasLoaded) {
      log.info({ selectors: selectors.size, malformed_selectors: selectors.malformed.size }, "inventory loaded");
    } else if (fault === null && !wasCurrent) {
      log.info("inventory is current again");
    }
    if (fault !== null && wasCurrent) {
      log.warn(
        { fault },
        loaded ? "inventory is stale; the last valid inventory is in use" : "inventory is not loaded yet",
      );
    }
    wasLoaded = loaded;
    wasCurrent = fault === null;
  };
  logChange();
  return source.onChange(logChange);
}

/** Logs the warnings about the settings of a server at its start. */
export function logNotices(settings: Pick<DecisionSettings, "runtime">, log: Pick<Logger, "warn">): void {
  for (const notice of startNotices(settings)) log.warn(notice);
}

interface GroupView {
  readonly inventory: { readonly kinds: { readonly groups: Iterable<string> } };
  onChange(listener: () => void): () => void;
}

const UNKNOWN_GROUP = "unknown ACK API group: the webhook does not check resources of the group, "
  + "and may be unable to read them; "
  + "render the manifests and start the webhook with --extra-groups set to the group, or upgrade";

/**
 * Logs each installed ACK group that is unknown to this release and not in `extraGroups`. Logs each group only once.
 */
export function logUnknownGroups(source: GroupView, log: Pick<Logger, "warn">, extraGroups: readonly string[]): void {
  const logged = new Set<string>();
  source.onChange(() => {
    for (const group of unknownGroups(source.inventory.kinds.groups, extraGroups)) {
      if (logged.has(group)) continue;
      logged.add(group);
      log.warn({ group }, UNKNOWN_GROUP);
    }
  });
}
