import type { IncomingMessage, RequestOptions } from "node:http";
import type { LookupFunction } from "node:net";
import { ResolverError } from "../shared/decisions/errors.ts";
import { field, parseJSON, stringAt } from "../shared/decisions/kubernetes/json.ts";
import { printable } from "../shared/decisions/kubernetes/text.ts";
import { readGroupedKind, readLabels } from "../shared/decisions/resolution/hypothetical-resource.ts";
import type { SettingsFor } from "../shared/decisions/settings.ts";
import { type Clock, systemClock, withTimeout } from "../shared/inventory/clock.ts";
import { formatExpiration, statedExpirationMs } from "../sidecar/http/respond.ts";
import { readToken } from "../sidecar/token.ts";
import { EXIT, type ExitStatus, type IO } from "./io.ts";

/** An answer of the sidecar, or of whoever listens there, its body whole. */
export interface SidecarAnswer {
  readonly status: number;
  readonly body: string;
}

/** Asks once. Rejects with a system error where there is no answer, or one that is larger than credentials can be. */
export type AskSidecar = (url: URL, token: string, signal: AbortSignal) => Promise<SidecarAnswer>;

const BODY_LIMIT_BYTES = 64 * 1024;
const HEADER_LIMIT_BYTES = 8 * 1024;

/** Through node:http: the sidecar takes fetch's Sec-Fetch-Mode for a browser's, and a redirect is not followed. */
export const askSidecar: AskSidecar = async (url, token, signal) => {
  const { request } = await (url.protocol === "https:" ? import("node:https") : import("node:http"));
  const { promise, resolve, reject } = Promise.withResolvers<SidecarAnswer>();
  const options: RequestOptions = {
    headers: { accept: "application/json", authorization: token },
    signal,
    maxHeaderSize: HEADER_LIMIT_BYTES,
    // An agent of its own takes no proxy from the environment (https://nodejs.org/api/http.html#built-in-proxy-support).
    agent: false,
    lookup: loopbackLookup,
  };
  request(url, options, (response) => void readAnswer(response).then(resolve, reject)).on("error", reject).end();
  return await promise;
};

/** `localhost` is this machine whatever a resolver says: https://www.rfc-editor.org/rfc/rfc6761#section-6.3 */
const loopbackLookup: LookupFunction = (_name, { all }, done) => {
  if (all === true) done(null, [{ address: "127.0.0.1", family: 4 }, { address: "::1", family: 6 }]);
  else done(null, "127.0.0.1", 4);
};

async function readAnswer(response: IncomingMessage): Promise<SidecarAnswer> {
  const chunks: Buffer[] = [];
  let size = 0;
  // Without an encoding set a response gives Buffers; node's types leave them `any`.
  const received: AsyncIterable<Buffer> = response;
  for await (const bytes of received) {
    size += bytes.length;
    if (size > BODY_LIMIT_BYTES) throw new RangeError("the answer is larger than credentials can be");
    chunks.push(bytes);
  }
  return { status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString("utf8") };
}

type Settings = SettingsFor<"credential-process">;

export interface CredentialProcessPorts {
  readonly clock: Clock;
  readonly ask: AskSidecar;
}

/** A little over the 900 ms within which the sidecar answers whatever STS does. */
const TRY_LIMIT_MS = 1_200;
/** All tries and the pauses between them: an SDK waits for this command, most without a limit. */
const LIMIT_MS = 5_000;
const PAUSE = { firstMs: 100, mostMs: 1_000 } as const;
const MESSAGE_LIMIT = 2_000;
const SHORT_TOKEN = 16;

/**
 * Prints what a profile's `credential_process` must: https://docs.aws.amazon.com/sdkref/latest/guide/feature-process-credentials.html
 * All of it or nothing, since SDKs quote what they cannot read.
 */
export async function runCredentialProcess(settings: Settings, io: IO, ports: CredentialProcessPorts = { clock: systemClock, ask: askSidecar }): Promise<ExitStatus> {
  const url = credentialsURL(settings);
  const token = await tokenOf(settings);
  const outcome = await obtain(ports, (signal) => ports.ask(url, token, signal));
  const read = "fault" in outcome ? outcome : readOutput(outcome, ports.clock.now());
  if ("fault" in read) {
    io.stderr.write(`ack-role-resolver: ${url.origin}: ${printable(withoutToken(read.fault, token).slice(0, MESSAGE_LIMIT))}\n`);
    return EXIT.findings;
  }
  io.stdout.write(`${JSON.stringify(read.output)}\n`);
  return EXIT.fine;
}

/** Throws ERR_CONFIG_INVALID naming every fault. */
function credentialsURL({ endpoint, selector, namespace, kind, label }: Settings): URL {
  const faults: string[] = [];
  for (const text of kind) readGroupedKind(text, faults);
  readLabels(label, faults);
  const url = URL.parse(endpoint ?? "");
  if (url === null) faults.push("--endpoint: there is no such port; expected one up to 65535, such as http://127.0.0.1:9780");
  if (url === null || faults.length > 0) throw new ResolverError("ERR_CONFIG_INVALID", faults.join("\n"));
  url.pathname = selector === null ? `/v1/credentials/namespaces/${namespace ?? ""}` : `/v1/credentials/selectors/${selector}`;
  for (const text of kind) url.searchParams.append("kind", text);
  for (const text of label) url.searchParams.append("label", text);
  return url;
}

async function tokenOf({ tokenFile }: Settings): Promise<string> {
  const token = await readToken(tokenFile ?? "");
  if (token !== null) return token;
  throw new ResolverError("ERR_CONFIG_INVALID", `--token-file ${tokenFile ?? ""}: absent or empty; give the file that the running sidecar was given with its --token-file.`);
}

/** Whatever listens there may send back what it was sent. A token as short as a word is for trials, and stands in many a sentence. */
function withoutToken(text: string, token: string): string {
  return token.length < SHORT_TOKEN ? text : text.replaceAll(token, "[token]");
}

interface Fault {
  readonly fault: string;
}

/** Asks until there is an answer that asking again would not change. STS trouble is 503, and one whose call goes on is answered soon. */
async function obtain({ clock }: CredentialProcessPorts, ask: (signal: AbortSignal) => Promise<SidecarAnswer>): Promise<SidecarAnswer | Fault> {
  const endMs = clock.now() + LIMIT_MS;
  for (let pauseMs: number = PAUSE.firstMs; ; pauseMs = Math.min(2 * pauseMs, PAUSE.mostMs)) {
    // oxlint-disable-next-line no-await-in-loop -- one try after another
    const outcome = await tryOnce(clock, ask);
    const isFinal = !("fault" in outcome) && outcome.status !== 503;
    if (isFinal || clock.now() + pauseMs + TRY_LIMIT_MS > endMs) return outcome;
    // oxlint-disable-next-line no-await-in-loop -- the pause between them
    await new Promise<void>((resolve) => void clock.schedule(pauseMs, resolve));
  }
}

async function tryOnce(clock: Clock, ask: (signal: AbortSignal) => Promise<SidecarAnswer>): Promise<SidecarAnswer | Fault> {
  const abort = new AbortController();
  try {
    return await withTimeout(clock, TRY_LIMIT_MS, ask(abort.signal), () => new Error(`no answer within ${TRY_LIMIT_MS} ms`));
  } catch (error) {
    return { fault: `The sidecar cannot be asked (${reasonOf(error)}); see that it runs beside this process and that --endpoint is its --listen.` };
  } finally {
    abort.abort();
  }
}

function reasonOf(error: unknown): string {
  return stringAt(error, "code") ?? (error instanceof Error ? error.message : "unknown");
}

const FIELDS = ["AccessKeyId", "SecretAccessKey", "Token", "Expiration", "AccountId"] as const;

function readOutput({ status, body }: SidecarAnswer, nowMs: number): { readonly output: object } | Fault {
  const answer = parseJSON(body);
  if (status !== 200) return { fault: refusal(status, answer) };
  const read = new Map(FIELDS.map((name) => [name, stringAt(answer, name) ?? ""]));
  const missing = FIELDS.filter((name) => read.get(name) === "");
  if (missing.length > 0) return { fault: `The answer holds no session: ${missing.join(", ")} missing; see that --endpoint is a sidecar of ack-role-resolver.` };
  const trueMs = Date.parse(read.get("Expiration") ?? "");
  if (!(trueMs > nowMs)) return { fault: "The answer's Expiration is in the past or no time; see that --endpoint is a sidecar of ack-role-resolver." };
  return {
    output: {
      Version: 1,
      AccessKeyId: read.get("AccessKeyId"),
      SecretAccessKey: read.get("SecretAccessKey"),
      SessionToken: read.get("Token"),
      Expiration: formatExpiration(statedExpirationMs(trueMs, nowMs)),
      AccountId: read.get("AccountId"),
    },
  };
}

function refusal(status: number, answer: unknown): string {
  const [code, message] = [field(answer, "code"), field(answer, "message")];
  if (typeof code === "string" && typeof message === "string") return `${code}: ${message}`;
  return `It answered with status ${status} and no code; see that --endpoint is a sidecar of ack-role-resolver.`;
}
