import { type DestinationStream, type Level, type Logger, pino, stdTimeFunctions, destination as toFile } from "pino";
import { unknownGroups } from "../contract/ack-groups.ts";
import { type NoticedSettings, startNotices } from "../contract/removed-settings.ts";
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

// The redacted fields. Redaction is a second layer of defense: no code logs a credential.
const SECRET_FIELDS = [
  "authorization", "token", "secretAccessKey", "SecretAccessKey", "sessionToken", "SessionToken", "Token",
];

/**
 * Returns a logger that writes JSON lines. Each line has an ISO time, a level name and a constant `msg`. The other
 * fields of a line contain the variable data. The logger writes synchronously, so that an exit loses no lines.
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
 * Logs when the inventory is loaded, becomes stale or becomes current again. Logs one line for each change of state,
 * not for each retry. The returned function stops the logging.
 */
export function logInventory(source: InventorySource, log: Logger): () => void {
  let wasLoaded = false;
  let wasCurrent = true;
  const logChange = (): void => {
    const { loaded, fault } = source.status;
    const { selectors } = source.inventory;
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
export function logNotices(settings: NoticedSettings, log: Pick<Logger, "warn">): void {
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
