import { type DestinationStream, destination as toFile, type Level, type Logger, pino, stdTimeFunctions } from "pino";

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
