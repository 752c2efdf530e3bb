import { IncomingMessage } from "node:http";
import { pipeline, Transform } from "node:stream";
import { STSClient, STSServiceException } from "@aws-sdk/client-sts";
import { ResolverError } from "../../shared/decisions/errors.ts";
import { isLoopbackHost } from "../../shared/server/listen-address.ts";
import type { SigningCredentials } from "../credentials/session.ts";

interface EndpointSettings {
  /** --sts-endpoint. */
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

/**
 * The timeouts in ms. The timeouts do not exceed the limit of a whole call, so that no socket stays open after the
 * call.
 */
const TIMEOUTS = { connectionTimeout: 2_000, requestTimeout: 5_000, throwOnRequestTimeout: true } as const;
/**
 * The maximum size of a response. A response contains one session, whose token has at most 4 KiB:
 * https://docs.aws.amazon.com/STS/latest/APIReference/API_Credentials.html
 */
const RESPONSE_LIMIT_BYTES = 64 * 1024;

interface STSAddress {
  /** The URL of a custom STS endpoint; null selects the regional endpoint of `region`. */
  readonly endpoint: string | null;
  readonly region: string;
}

/**
 * Reuses one client until the base credentials change, because creating a client takes milliseconds. The base
 * credentials change about twice an hour.
 */
export class STSConnection {
  readonly #address: STSAddress;
  #last: { readonly base: SigningCredentials; readonly client: STSClient } | null = null;

  constructor(address: STSAddress) {
    this.#address = address;
  }

  /**
   * Calls `send` with a client for `base`. STS rejects a signature if the local clock is more than 15 minutes off.
   * After such a rejection, calls `send` again, because the SDK has read the time of STS from the response and now
   * signs with this time.
   */
  async send<T>(base: SigningCredentials, send: (client: STSClient) => Promise<T>): Promise<T> {
    const client = this.#clientFor(base);
    try {
      return await send(client);
    } catch (error) {
      if (!isClockSkewError(error)) throw error;
      return send(client);
    }
  }

  /** How far the local clock is behind the clock of STS, in ms, according to the last STS response; 0 if unknown. */
  get clockLagMs(): number {
    return Math.max(0, this.#last?.client.config.systemClockOffset ?? 0);
  }

  #clientFor(base: SigningCredentials): STSClient {
    const last = this.#last;
    const isSame = last?.base.accessKeyID === base.accessKeyID && last.base.sessionToken === base.sessionToken;
    if (last !== null && isSame) return last.client;
    const { accessKeyID, secretAccessKey, sessionToken } = base;
    const { endpoint, region } = this.#address;
    const client = new STSClient({
      region,
      credentials: { accessKeyId: accessKeyID, secretAccessKey, ...(sessionToken === null ? {} : { sessionToken }) },
      ...(endpoint === null ? {} : { endpoint }),
      ignoreConfiguredEndpointUrls: true,
      useFipsEndpoint: false,
      useDualstackEndpoint: false,
      useGlobalEndpoint: false,
      maxAttempts: 1,
      // The new client continues with the clock offset that the last client measured from STS responses.
      systemClockOffset: last?.client.config.systemClockOffset ?? 0,
      requestHandler: TIMEOUTS,
    });
    limitResponses(client);
    this.#last = { base, client };
    return client;
  }
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

function isClockSkewError(error: unknown): boolean {
  if (!(error instanceof STSServiceException) || !CLOCK_SKEW_ERRORS.has(error.name)) return false;
  // After the SDK has corrected its clock, it sets this property, which the type of `$metadata` does not declare.
  return "clockSkewCorrected" in error.$metadata;
}
