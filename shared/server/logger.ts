import { type SelectorCounts } from "./metrics.ts";
import process from "node:process";
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
/** Source: https://getpino.io/#/docs/api?id=metadata */
const METADATA: unique symbol = Symbol.for("pino.metadata");
const WARN = pino.levels.values["warn"] ?? 0;

/** The number and the age at which lines of requests are written. */
const BATCH = { lines: 32, ms: 100 } as const;

/**
 * Writes the lines of one turn of the event loop together, and each warning and error immediately. Lines of requests
 * wait for up to 100 ms, because a server under load logs thousands in a second, and are also made together: making a
 * line takes 20 us on its own, because the caches of the processor no longer hold the code, and 3 us in a batch. Writes
 * synchronously, so that an exit loses no line. Only a process that is killed can lose the lines that wait; `flush`
 * writes them. Drops lines that cannot be written, for example to a full disk, because an error would stop the server
 * or change its response.
 */
export class BatchedOutput implements DestinationStream {
  readonly #fd: number;
  #file: DestinationStream;
  #lines: (string | (() => string))[] = [];
  #isTimed = false;
  /** Makes pino set `lastLevel` before each line. */
  readonly [METADATA] = true;
  lastLevel = 0;

  constructor(fd = STDERR) {
    this.#fd = fd;
    this.#file = toFile({ dest: fd, sync: true });
    process.on("exit", () => this.flush());
  }

  write(line: string): void {
    this.#lines.push(line);
    if (this.lastLevel >= WARN) this.flush();
    else setImmediate(() => this.flush());
  }

  /** Makes and writes the line of a request. */
  writeLater(makeLine: () => string): void {
    this.#lines.push(makeLine);
    if (this.#lines.length >= BATCH.lines) return this.flush();
    if (this.#isTimed) return;
    this.#isTimed = true;
    setTimeout(() => {
      this.#isTimed = false;
      this.flush();
    }, BATCH.ms).unref();
  }

  flush(): void {
    const lines = this.#lines;
    this.#lines = [];
    if (lines.length === 0) return;
    const text = lines.map(textOf).join("");
    try {
      this.#file.write(text);
    } catch {
      // The old stream would keep the lines in memory, and write a part of them again.
      this.#file = toFile({ dest: this.#fd, sync: true });
    }
  }
}

/** Returns "" for a line that cannot be made, because the other lines must not get lost with it. */
function textOf(line: string | (() => string)): string {
  try {
    return typeof line === "string" ? line : line();
  } catch {
    return "";
  }
}

let stderrOutput: BatchedOutput | null = null;

/** Returns the output that all loggers of the process share, so that their lines stay in order. */
function toStderr(): BatchedOutput {
  stderrOutput ??= new BatchedOutput();
  return stderrOutput;
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

/** Returns a function that returns the time as a JSON field. Formats the date once in a second. */
function timeField(): (ms?: number) => string {
  let [second, prefix] = [Number.NaN, ""];
  return (ms = Date.now()) => {
    const ofSecond = Math.floor(ms / 1000);
    if (ofSecond !== second) prefix = new Date(ms).toISOString().slice(0, -"000Z".length);
    second = ofSecond;
    return `,"time":"${prefix}${String(ms % 1000).padStart(3, "0")}Z"`;
  };
}

/**
 * Returns a logger that writes JSON lines. Each line has an ISO time, a level name and a constant `msg`. The other
 * fields of a line contain the variable data.
 */
export function createLogger(options: LoggerOptions): Logger {
  const { name, level = "info", destination = toStderr() } = options;
  const timestamp = timeField();
  const log = pino(
    {
      level,
      base: { name },
      timestamp: () => timestamp(),
      formatters: { level: (label) => ({ level: label }) },
      hooks: { streamWrite: redacted },
    },
    destination,
  );
  REQUEST_LOGS.set(log, (fields, msg) => {
    const ms = Date.now();
    const makeLine = (): string => {
      const start = `{"level":"info"${timestamp(ms)},"name":${JSON.stringify(name)},`;
      return redacted(`${start}${JSON.stringify(fields).slice(1, -1)},"msg":${JSON.stringify(msg)}}\n`);
    };
    if (destination instanceof BatchedOutput) destination.writeLater(makeLine);
    else destination.write(makeLine());
  });
  return log;
}

const REQUEST_LOGS = new WeakMap<Pick<Logger, "info">, (fields: object, msg: string) => void>();

/**
 * Logs a request that needs no attention: writes the same line as `log.info`, but up to 100 ms later, and without the
 * work of pino for each field. `fields` must not be empty, contain an error or a part of a large text, or change.
 */
export function logRequest(log: Pick<Logger, "info" | "isLevelEnabled">, fields: object, msg: string): void {
  if (log.isLevelEnabled("info")) REQUEST_LOGS.get(log)?.(fields, msg);
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
