import { IncomingMessage } from "node:http";
import { pipeline, Transform } from "node:stream";
import { STSClient, STSServiceException } from "@aws-sdk/client-sts";
import type { Credentials } from "../credentials/session.ts";
import type { CallerIdentity } from "./client.ts";

/** The credentials that calls are signed with; whose they are may not be known yet. */
export type SigningCredentials = Omit<Credentials, keyof CallerIdentity>;

/** Within the limit of a whole call, so that a socket is never left behind. */
const TIMEOUTS = { connectionTimeout: 2_000, requestTimeout: 5_000, throwOnRequestTimeout: true } as const;
/** An answer holds one session, whose token is at most 4 KiB: https://docs.aws.amazon.com/STS/latest/APIReference/API_Credentials.html */
const ANSWER_LIMIT_BYTES = 64 * 1024;

export interface STSAddress {
  /** Null: the regional endpoint of `region`, in its partition. */
  readonly endpoint: string | null;
  readonly region: string;
}

/** A client for the credentials that were used last: they change twice an hour, and a client costs milliseconds. */
export class STSConnection {
  readonly #address: STSAddress;
  #last: { readonly base: SigningCredentials; readonly client: STSClient } | null = null;

  constructor(address: STSAddress) {
    this.#address = address;
  }

  /**
   * What `send` gets from STS in one attempt. Where STS took the signature for one of another time, this machine's clock is more than
   * 15 minutes off: the SDK has then read STS's time from the answer, and a second attempt is signed with it.
   */
  async ask<T>(base: SigningCredentials, send: (client: STSClient) => Promise<T>): Promise<T> {
    const client = this.#clientFor(base);
    try {
      return await send(client);
    } catch (error) {
      if (!wasSignedAtAnotherTime(error)) throw error;
      return send(client);
    }
  }

  /** By how much this machine's clock is behind STS's, as its last answer said; 0 where it is not, or is not known. */
  get behindMs(): number {
    return Math.max(0, this.#last?.client.config.systemClockOffset ?? 0);
  }

  #clientFor(base: SigningCredentials): STSClient {
    const last = this.#last;
    if (last !== null && last.base.accessKeyID === base.accessKeyID && last.base.sessionToken === base.sessionToken) return last.client;
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
      // How far the clock is off is known from the last client's answers.
      systemClockOffset: last?.client.config.systemClockOffset ?? 0,
      requestHandler: TIMEOUTS,
    });
    boundAnswers(client);
    this.#last = { base, client };
    return client;
  }
}

/** The SDK reads an answer whole, however long it is. Next to the handler, so that nothing has read of it yet. */
function boundAnswers(client: STSClient): void {
  client.middlewareStack.add(
    (next) => async (args) => {
      const result = await next(args);
      const { response } = result;
      if (holdsBody(response)) response.body = pipeline(response.body, byteLimit(), () => {});
      return result;
    },
    { step: "deserialize", priority: "low", name: "boundAnswers" },
  );
}

function holdsBody(response: unknown): response is { body: IncomingMessage | Transform } {
  return typeof response === "object" && response !== null && "body" in response && response.body instanceof IncomingMessage;
}

function byteLimit(): Transform {
  let bytes = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done): void {
      bytes += chunk.length;
      if (bytes > ANSWER_LIMIT_BYTES) done(new RangeError(`The answer is longer than ${ANSWER_LIMIT_BYTES} bytes.`));
      else done(null, chunk);
    },
  });
}

const TIME_FAULTS: ReadonlySet<string> = new Set(["SignatureDoesNotMatch", "RequestExpired"]);

function wasSignedAtAnotherTime(error: unknown): boolean {
  // The mark is left out of the type of `$metadata` that a service's errors have.
  return error instanceof STSServiceException && TIME_FAULTS.has(error.name) && "clockSkewCorrected" in error.$metadata;
}
