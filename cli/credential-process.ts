import type { IncomingMessage, RequestOptions } from "node:http";
import type { LookupFunction } from "node:net";
import process from "node:process";
import { type SteadyClock, systemClock, withTimeout } from "../shared/core/clock.ts";
import type { SettingsFor } from "../shared/core/settings.ts";
import { ResolverError } from "../shared/formats/errors.ts";
import { field, parseJSON, stringAt } from "../shared/formats/json.ts";
import { printable } from "../shared/formats/text.ts";
import { parseKindFlag, parseLabelFlags } from "../shared/diagnosis/hypothetical-resource.ts";
import { formatExpiration, statedExpirationMs } from "../sidecar/http/respond.ts";
import { readToken } from "../sidecar/token.ts";
import { EXIT, type ExitStatus, type IO } from "./io.ts";

/**
 * Maps instructions for HTTP clients and SDKs, which messages of the sidecar contain, to instructions for users of
 * credential-process. The messages are in shared/ack, shared/carm, shared/capa, sidecar/http and sidecar/token.ts.
 */
const INSTRUCTIONS: readonly (readonly [forClients: RegExp, forUser: string])[] = [
  [
    /^The Authorization header does not contain the token\. .*$/s,
    "The sidecar rejected the token. Set --token-file to the token file that the sidecar uses.",
  ],
  [/Allow the user of the sidecar to read/, "Allow this user to read"],
  [/Request one kind with kind=KIND\.VERSION\.GROUP at \S+,/, "Set --kind KIND.VERSION.GROUP,"],
  [/Request \S+ with label=KEY=VALUE for each label of the resource\./, "Set --label for each label of the resource."],
  [
    /Request the credentials of a namespace, (or run the controllers and the sidecar with )the sidecar's /,
    "Set --namespace and --kind instead of --selector, $1",
  ],
];

/** Matches a flag in a message of the sidecar, and any words that already state that it is a flag of the sidecar. */
const FLAG = /(the sidecar runs with |the sidecar's )?(--[a-z][a-z-]*)(?: of the sidecar)?/g;

/**
 * Adapts a message of the sidecar for a user of credential-process. Marks each flag in the message as a flag of the
 * sidecar. Replaces instructions about the HTTP request by instructions about flags of credential-process.
 */
function responseForUser(message: string): string {
  const marked = message.replace(FLAG, (_, owner: string | undefined, flag: string) => (
    `${owner ?? "the sidecar's "}${flag}`
  ));
  return instructionsForUser(marked);
}

/**
 * Replaces the instructions in a message by instructions for a user of credential-process. Does not mark other flags in
 * the message.
 */
function instructionsForUser(message: string): string {
  return INSTRUCTIONS.reduce((text, [forClients, forUser]) => text.replace(forClients, forUser), message);
}

/** A complete response of the server at --endpoint. */
export interface SidecarResponse {
  readonly status: number;
  readonly body: string;
}

/** Sends one request. Rejects with a system error if no response arrives, and a RangeError if the body is too large. */
export type SendRequest = (url: URL, token: string, signal: AbortSignal) => Promise<SidecarResponse>;

const BODY_LIMIT_BYTES = 64 * 1024;
const HEADER_LIMIT_BYTES = 8 * 1024;

/** Uses node:http because `fetch` sends a Sec-Fetch-Mode header, which the sidecar rejects. Follows no redirects. */
export const sendRequest: SendRequest = async (url, token, signal) => {
  // Not with import(), which calls every getter of the module: those of node:http load a second HTTP client.
  const { request } = process.getBuiltinModule(url.protocol === "https:" ? "node:https" : "node:http");
  const { promise, resolve, reject } = Promise.withResolvers<SidecarResponse>();
  const options: RequestOptions = {
    headers: { accept: "application/json", authorization: token },
    signal,
    maxHeaderSize: HEADER_LIMIT_BYTES,
    // The global agent of Node.js would use a proxy from the environment variables:
    // https://nodejs.org/api/http.html#built-in-proxy-support
    agent: false,
    lookup: loopbackLookup,
  };
  request(url, options, (response) => void readResponse(response).then(resolve, reject)).on("error", reject).end();
  return await promise;
};

/** Resolves `localhost` to loopback without a DNS query: https://www.rfc-editor.org/rfc/rfc6761#section-6.3 */
const loopbackLookup: LookupFunction = (_name, { all }, done) => {
  if (all === true) done(null, [{ address: "127.0.0.1", family: 4 }, { address: "::1", family: 6 }]);
  else done(null, "127.0.0.1", 4);
};

async function readResponse(response: IncomingMessage): Promise<SidecarResponse> {
  const chunks: Buffer[] = [];
  let size = 0;
  // The chunks are Buffers because no encoding is set. @types/node declares the chunks as `any`.
  const received: AsyncIterable<Buffer> = response;
  for await (const bytes of received) {
    size += bytes.length;
    if (size > BODY_LIMIT_BYTES) throw new RangeError(`the response is larger than ${BODY_LIMIT_BYTES} bytes`);
    chunks.push(bytes);
  }
  return { status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString("utf8") };
}

type Settings = SettingsFor<"credential-process">;

interface CredentialProcessPorts {
  readonly clock: SteadyClock;
  readonly send: SendRequest;
}

/** The time limit of one attempt. The sidecar always responds within 900 ms. */
const ATTEMPT_LIMIT_MS = 1_200;
/**
 * The time limit of all attempts together, including the pauses. Most SDKs have no time limit for a
 * `credential_process`.
 */
const TOTAL_LIMIT_MS = 5_000;
const PAUSE = { firstMs: 100, maxMs: 1_000 } as const;
const MESSAGE_LIMIT = 2_000;
/** The minimum length of a token that is redacted. A shorter token may occur in a message by chance. */
const REDACTED_TOKEN_LENGTH = 16;

/**
 * Prints credentials in the format of `credential_process`. Prints nothing to standard output if the request fails.
 * Format: https://docs.aws.amazon.com/sdkref/latest/guide/feature-process-credentials.html
 */
export async function runCredentialProcess(
  settings: Settings, io: IO, ports: CredentialProcessPorts = { clock: systemClock, send: sendRequest },
): Promise<ExitStatus> {
  const url = credentialsURL(settings);
  const token = await tokenOf(settings);
  const outcome = await requestWithRetries(ports.clock, (signal) => ports.send(url, token, signal));
  const result = "fault" in outcome ? outcome : readOutput(outcome, ports.clock.now());
  if ("fault" in result) {
    const fault = printable(withoutToken(result.fault, token).slice(0, MESSAGE_LIMIT));
    io.stderr.write(`ack-role-resolver: ${url.origin}: ${fault}\n`);
    return EXIT.findings;
  }
  io.stdout.write(`${JSON.stringify(result.output)}\n`);
  return EXIT.fine;
}

/** Returns the URL of the credentials. Throws ERR_CONFIG_INVALID if a flag is invalid, with one line for each fault. */
function credentialsURL(settings: Settings): URL {
  const { endpoint, identity, namespace, kind, label } = settings;
  const faults: string[] = [];
  for (const text of kind) parseKindFlag(text, faults);
  parseLabelFlags(label, faults);
  const url = URL.parse(endpoint ?? "");
  if (url === null) faults.push("--endpoint: expected a port of at most 65535, such as http://127.0.0.1:9780");
  if (url === null || faults.length > 0) throw new ResolverError("ERR_CONFIG_INVALID", faults.join("\n"));
  url.pathname = `/v1/credentials/${pathOf(settings)}`;
  if (identity !== null) url.searchParams.set("namespace", namespace ?? "");
  for (const text of kind) url.searchParams.append("kind", text);
  for (const text of label) url.searchParams.append("label", text);
  return url;
}

function pathOf({ selector, identity, namespace }: Settings): string {
  if (selector !== null) return `selectors/${selector}`;
  return identity === null ? `namespaces/${namespace ?? ""}` : `identities/${identity}`;
}

async function tokenOf({ tokenFile }: Settings): Promise<string> {
  const file = tokenFile ?? "";
  const token = await readToken(file).catch((error: unknown) => {
    if (!(error instanceof ResolverError)) throw error;
    throw new ResolverError(error.code, instructionsForUser(error.message), { cause: error });
  });
  if (token !== null) return token;
  const message = `--token-file ${file}: the file is missing or empty; pass the token file of the running sidecar`;
  throw new ResolverError("ERR_CONFIG_INVALID", message);
}

/** Removes the token from the text, because a server may repeat the token in its response. */
function withoutToken(text: string, token: string): string {
  return token.length < REDACTED_TOKEN_LENGTH ? text : text.replaceAll(token, "[token]");
}

interface Fault {
  readonly fault: string;
}

type Attempt = (signal: AbortSignal) => Promise<SidecarResponse>;

/**
 * Retries if no response arrives or the status is 503, which means that STS failed or that an STS call is still in
 * progress.
 */
async function requestWithRetries(clock: SteadyClock, attempt: Attempt): Promise<SidecarResponse | Fault> {
  const endMs = clock.steady() + TOTAL_LIMIT_MS;
  for (let pauseMs: number = PAUSE.firstMs; ; pauseMs = Math.min(2 * pauseMs, PAUSE.maxMs)) {
    // oxlint-disable-next-line no-await-in-loop -- attempts are sequential
    const outcome = await requestOnce(clock, attempt);
    const isFinal = !("fault" in outcome) && outcome.status !== 503;
    if (isFinal || clock.steady() + pauseMs + ATTEMPT_LIMIT_MS > endMs) return outcome;
    // oxlint-disable-next-line no-await-in-loop -- the pause between attempts
    await new Promise<void>((resolve) => void clock.schedule(pauseMs, resolve));
  }
}

function timeoutError(): Error {
  return new Error(`no response within ${ATTEMPT_LIMIT_MS} ms`);
}

async function requestOnce(clock: SteadyClock, attempt: Attempt): Promise<SidecarResponse | Fault> {
  const abort = new AbortController();
  try {
    return await withTimeout(clock, ATTEMPT_LIMIT_MS, attempt(abort.signal), timeoutError);
  } catch (error) {
    const fault = `Cannot reach the sidecar (${reasonOf(error)}).`;
    return { fault: `${fault} Check that the sidecar is running, and that it listens on the address in --endpoint.` };
  } finally {
    abort.abort();
  }
}

function reasonOf(error: unknown): string {
  return stringAt(error, "code") ?? (error instanceof Error ? error.message : "unknown error");
}

const FIELDS = ["AccessKeyId", "SecretAccessKey", "Token", "Expiration", "AccountId"] as const;
const ENDPOINT_FIX = "Check that --endpoint is the address of an ack-role-resolver sidecar.";

function readOutput({ status, body }: SidecarResponse, nowMs: number): { readonly output: object } | Fault {
  const response = parseJSON(body);
  if (status !== 200) return { fault: errorText(status, response) };
  const values = new Map(FIELDS.map((name) => [name, stringAt(response, name) ?? ""]));
  const missing = FIELDS.filter((name) => values.get(name) === "");
  if (missing.length > 0) return { fault: `The response does not contain ${missing.join(", ")}. ${ENDPOINT_FIX}` };
  const expirationMs = Date.parse(values.get("Expiration") ?? "");
  if (!(expirationMs > nowMs)) return { fault: `The response's Expiration is invalid or in the past. ${ENDPOINT_FIX}` };
  return {
    output: {
      Version: 1,
      AccessKeyId: values.get("AccessKeyId"),
      SecretAccessKey: values.get("SecretAccessKey"),
      SessionToken: values.get("Token"),
      Expiration: formatExpiration(statedExpirationMs(expirationMs, nowMs)),
      AccountId: values.get("AccountId"),
    },
  };
}

function errorText(status: number, response: unknown): string {
  const [code, message] = [field(response, "code"), field(response, "message")];
  if (typeof code === "string" && typeof message === "string") return `${code}: ${responseForUser(message)}`;
  return `The server responded with status ${status}, but without an error code. ${ENDPOINT_FIX}`;
}
