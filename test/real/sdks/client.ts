import { join } from "node:path";
import { type ProgramResult, runProgram } from "../../programs/run-program.ts";

export const SDKS = ["go", "botocore", "javascript", "java", "rust"] as const;
export type SDK = (typeof SDKS)[number];

export type Variables = Readonly<Record<string, string>>;

/**
 * A client program of an SDK. The arguments of the program are `whoami STS_ENDPOINT`, `retrieve N` or `assume ROLE_ARN
 * SESSION_NAME`. The program prints JSON, or prints the error of the SDK on standard error and exits with code 1. The
 * program gets only the given environment variables.
 */
export interface Client {
  readonly sdk: SDK;
  /** Rejects if `signal` stops the program. */
  run(args: readonly string[], variables: Variables, signal?: AbortSignal): Promise<ProgramResult>;
}

/** Returns a function that runs the command with `prefix` before the client's arguments, and with these variables. */
export function runWith(command: string, prefix: readonly string[] = [], base: Variables = {}): Client["run"] {
  return (args, variables, signal) => {
    const env = { ...base, ...variables };
    const options = { cwd: import.meta.dirname, env, ...(signal === undefined ? {} : { signal }) };
    return runProgram(command, [...prefix, ...args], options);
  };
}

/** An error of the sidecar: `code` and `message` of the body, and the status. */
export interface ErrorResponse {
  readonly code: string;
  readonly message: string;
  readonly status: number;
}

/** Maps each SDK to a function that returns a pattern of the error text that the SDK shows to its user. */
export const ERROR_SHOWN: Readonly<Record<SDK, (error: ErrorResponse) => RegExp>> = {
  go: ({ code, message }) => new RegExp(literal(`${code}: ${message}`)),
  botocore: ({ code }) => new RegExp(`"code": ?"${code}"`),
  // This SDK reports that no provider has credentials, but not why.
  javascript: () => /CredentialsProviderError: Could not load credentials from any providers/,
  // For a 404, this SDK shows only the address.
  java: ({ message, status }) =>
    status === 404 ? /The requested metadata is not found at http/ : new RegExp(literal(message)),
  rust: ({ status }) => new RegExp(`${status}`),
};

/** Environment variables for all clients. These variables disable the sources of credentials on the machine. */
export function clientVariables({ home }: { readonly home: string }): Variables {
  return {
    HOME: home, AWS_CONFIG_FILE: join(home, "config"), AWS_SHARED_CREDENTIALS_FILE: join(home, "credentials"),
    AWS_EC2_METADATA_DISABLED: "true",
  };
}

/** Parses the output of a client. If the client failed, returns the exit code and standard error. */
export function printed({ code, stdout, stderr }: ProgramResult): unknown {
  return code === 0 ? JSON.parse(stdout) : { code, stderr };
}

function literal(text: string): string {
  return text.replaceAll(/[^\w ]/g, "\\$&");
}
