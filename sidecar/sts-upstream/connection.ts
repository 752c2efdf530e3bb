import { IncomingMessage } from "node:http";
import https, { type AgentOptions } from "node:https";
import { pipeline, Transform } from "node:stream";
import { STSClient, type STSClientConfig, STSServiceException } from "@aws-sdk/client-sts";
import { ResolverError } from "../../shared/formats/errors.ts";
import { BoundedMap } from "../../shared/server/bounded-map.ts";
import { isLoopbackHost } from "../../shared/server/listen-address.ts";
import type { SigningCredentials } from "../credentials/session.ts";

/**
 * Returns the options of an HTTPS agent that uses the proxy in HTTPS_PROXY if NODE_USE_ENV_PROXY is 1, like the global
 * agent of Node.js. The AWS SDK creates its own agents, which ignore both variables.
 */
export function proxyOptions(): AgentOptions {
  const { proxyEnv } = https.globalAgent.options;
  return proxyEnv === undefined ? {} : { proxyEnv };
}

export interface EndpointSettings {
  /** The URL of --sts-endpoint; null selects the regional endpoint of `region`. */
  readonly endpoint: string | null;
  readonly region: string | null;
}

/**
 * Returns the URL of --sts-endpoint, or null for the regional endpoint. Throws ERR_CONFIG_INVALID if --sts-endpoint and
 * --region are both missing.
 */
export function readSTSEndpoint({ endpoint, region }: EndpointSettings): URL | null {
  if (endpoint !== null) return parseSTSEndpoint(endpoint);
  if (region !== null) return null;
  const message = "--region is required for the regional STS endpoint. Set --region or --sts-endpoint.";
  throw new ResolverError("ERR_CONFIG_INVALID", message);
}

/**
 * Parses the URL. Throws ERR_CONFIG_INVALID unless the scheme of the URL is https, or http for a loopback address. The
 * URL must have no user, password, query or fragment.
 */
export function parseSTSEndpoint(text: string): URL {
  const url = URL.parse(text);
  if (url !== null && isSafeEndpoint(url)) return url;
  // The error message omits the URL, because the URL can contain a password.
  throw new ResolverError(
    "ERR_CONFIG_INVALID",
    "--sts-endpoint must be an https URL, or http to a loopback address, without user, password, query or fragment.",
  );
}

function isSafeEndpoint({ protocol, hostname, username, password, search, hash }: URL): boolean {
  if (`${username}${password}${search}${hash}` !== "") return false;
  return protocol === "https:" || (protocol === "http:" && isLoopbackHost(hostname.replace(/^\[|\]$/g, "")));
}

/** The maximum time to connect, in ms. The caller limits the duration of the whole call with its AbortSignal. */
const CONNECTION_MS = 2_000;
/**
 * The maximum size of a response. A response contains one session, whose token has at most 4 KiB:
 * https://docs.aws.amazon.com/STS/latest/APIReference/API_Credentials.html
 */
const RESPONSE_LIMIT_BYTES = 64 * 1024;

/**
 * The maximum number of clients. A client takes milliseconds to create, and a chain of identities signs its calls with
 * several credentials in turn.
 */
const MAX_CLIENTS = 16;

interface SignedClient {
  /** Null for a client whose calls are not signed. */
  readonly signer: SigningCredentials | null;
  readonly client: STSClient;
}

/**
 * Provides the clients of STS, one for each of the credentials that recently signed a call. All clients share one pool
 * of sockets and one measured clock offset.
 */
export class STSConnection {
  readonly #address: EndpointSettings & { readonly region: string };
  /** The clients by access key ID, least recently used first. */
  readonly #clients = new BoundedMap<string, SignedClient>(MAX_CLIENTS);
  /** The request handler of the first client, which contains the pool of sockets. */
  #handler: STSClient["config"]["requestHandler"] | null = null;
  /** How far the clock of STS is ahead of the local clock, in ms. */
  #clockOffsetMs = 0;

  constructor(address: EndpointSettings & { readonly region: string }) {
    this.#address = address;
  }

  /**
   * Calls `send` with a client that signs with `signer`; null for a call that is not signed. STS rejects a signature if
   * the local clock is more than 15 minutes off. After such a rejection, calls `send` again, because the SDK has read
   * the time of STS from the response and now signs with this time.
   */
  async send<T>(signer: SigningCredentials | null, send: (client: STSClient) => Promise<T>): Promise<T> {
    const client = this.#clientFor(signer);
    const signedWithMs = this.#clockOffsetMs;
    try {
      return await send(client);
    } catch (error) {
      const isCorrected = Math.abs(this.#clockOffsetMs - signedWithMs) >= MIN_CORRECTION_MS;
      if (!isCorrected || !isClockSkewError(error)) throw error;
      return send(client);
    }
  }

  /** How far the local clock is behind the clock of STS, in ms, according to the last signed call; 0 if unknown. */
  get clockLagMs(): number {
    return Math.max(0, this.#clockOffsetMs);
  }

  #clientFor(signer: SigningCredentials | null): STSClient {
    const key = signer?.accessKeyID ?? "";
    const known = this.#clients.get(key);
    const client = known !== undefined && isSameSigner(known.signer, signer) ? known.client : this.#newClient(signer);
    // A client that the map removes is not destroyed, because this would destroy the pool of sockets.
    this.#clients.set(key, { signer, client });
    return client;
  }

  #newClient(signer: SigningCredentials | null): STSClient {
    const { endpoint, region } = this.#address;
    const client = new STSClient({
      region,
      credentials: signer === null ? noCredentials : credentialsOf(signer),
      ...(endpoint === null ? {} : { endpoint }),
      ignoreConfiguredEndpointUrls: true,
      useFipsEndpoint: false,
      useDualstackEndpoint: false,
      useGlobalEndpoint: false,
      maxAttempts: 1,
      requestHandler: this.#handler ?? { connectionTimeout: CONNECTION_MS, httpsAgent: proxyOptions() },
    });
    this.#handler ??= client.config.requestHandler;
    // The SDK reads this property before it signs a call, and sets it to the offset that it measured.
    Object.defineProperty(client.config, "systemClockOffset", {
      get: () => this.#clockOffsetMs,
      set: (offsetMs: number) => {
        this.#clockOffsetMs = offsetMs;
      },
    });
    limitResponses(client);
    return client;
  }
}

/** Compares the secrets too: a corrected access key can have the same ID. */
function isSameSigner(a: SigningCredentials | null, b: SigningCredentials | null): boolean {
  if (a === null || b === null) return a === b;
  return a.accessKeyID === b.accessKeyID && a.secretAccessKey === b.secretAccessKey
    && a.sessionToken === b.sessionToken;
}

function credentialsOf(
  { accessKeyID, secretAccessKey, sessionToken }: SigningCredentials,
): NonNullable<STSClientConfig["credentials"]> {
  return { accessKeyId: accessKeyID, secretAccessKey, ...(sessionToken === null ? {} : { sessionToken }) };
}

/** Prevents that the SDK looks for credentials of the process. The SDK needs none for a call that is not signed. */
function noCredentials(): Promise<never> {
  return Promise.reject(new TypeError("A call without a signer must not be signed."));
}

/**
 * Limits the size of responses, because the SDK has no limit. The added middleware runs before any other code reads the
 * response.
 */
function limitResponses(client: STSClient): void {
  client.middlewareStack.add(
    (next) => async (args) => {
      const result = await next(args);
      const { response } = result;
      if (hasBody(response)) response.body = pipeline(response.body, byteLimit(), () => {});
      return result;
    },
    { step: "deserialize", priority: "low", name: "limitResponses" },
  );
}

function hasBody(response: unknown): response is { body: IncomingMessage | Transform } {
  if (typeof response !== "object" || response === null || !("body" in response)) return false;
  return response.body instanceof IncomingMessage;
}

function byteLimit(): Transform {
  let bytes = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done): void {
      bytes += chunk.length;
      if (bytes <= RESPONSE_LIMIT_BYTES) done(null, chunk);
      else done(new RangeError(`The response is larger than ${RESPONSE_LIMIT_BYTES} bytes.`));
    },
  });
}

const CLOCK_SKEW_ERRORS: ReadonlySet<string> = new Set(["SignatureDoesNotMatch", "RequestExpired"]);
/** The SDK corrects the clock offset if it is wrong by at least 4 minutes. */
const MIN_CORRECTION_MS = 240_000;

function isClockSkewError(error: unknown): boolean {
  return error instanceof STSServiceException && CLOCK_SKEW_ERRORS.has(error.name);
}
