import { randomBytes as cryptoRandomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { LIMITS } from "../../../shared/core/limits.ts";
import { MAX_CHAINED_SECONDS } from "../../../shared/core/session.ts";
import { systemClock } from "../../../shared/core/clock.ts";
import { limitConnections } from "../../../shared/server/connection-limit.ts";
import { JoinedChunks } from "../../../shared/server/joined-chunks.ts";
import { boundAddress, formatListenAddress } from "../../../shared/server/listen-address.ts";
import { formatExpiration } from "../../../sidecar/http/respond.ts";
import { type AssumeRoleForm, chainedDurationError, readAssumeRole } from "../../../sidecar/sts/assume-role-form.ts";
import {
  type Content, readForm, renderError, renderResult, STSErrorResponse,
} from "../../../sidecar/sts/query-protocol.ts";
import { readSignedHeaders, verifySignature } from "../../../sidecar/sts/signature.ts";
import { type BaseCredentials, type Principal, Principals, roleID } from "./principals.ts";

/** The parameters of a request to the emulator, without its credentials. */
export interface STSCall {
  readonly action: string;
  readonly roleARN: string | null;
  readonly sessionName: string | null;
  readonly durationSeconds: number | null;
}

export interface STSEmulatorOptions {
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** The port to listen on. The default, 0, selects any free port. */
  readonly port?: number;
  /** The access keys that the emulator accepts from its start. */
  readonly baseCredentials: readonly BaseCredentials[];
  /** Returns the current time in epoch ms; default Date.now. */
  readonly now?: () => number;
  readonly randomBytes?: (size: number) => Buffer;
  /** Returns what replaces the correct response, or null. May reject with STSErrorResponse. Only tests pass it. */
  readonly intercept?: (call: STSCall, request: IncomingMessage) => Promise<Interception | null>;
}

/** Answers a call in place of the emulator. `document` is the body of the correct response. */
export type Interception = (response: ServerResponse, document: string) => void;

export interface STSEmulator {
  readonly url: string;
  /**
   * The last 10,000 calls to the emulator, oldest first. The recorded calls omit values of more than 2,048 characters.
   */
  readonly calls: readonly STSCall[];
  close(): Promise<void>;
}

const CONNECTIONS = {
  served: LIMITS.emulatorConnections.value,
  accepted: LIMITS.emulatorAccepted.value,
  responseMs: LIMITS.emulatorResponse.value,
  replacesIncomplete: true,
} as const;
const TIMEOUTS = { headersTimeout: 5_000, requestTimeout: 10_000, connectionsCheckingInterval: 1_000 } as const;
const BODY_LIMIT_BYTES = 64 * 1024;
const RECORDED_CALLS = 10_000;
/** The maximum length of an ARN in STS. Longer values are not recorded. */
const RECORDED_CHARACTERS = 2_048;
const INTERNAL_FAILURE = new STSErrorResponse("InternalFailure", 500, "The emulator failed.");
/** Same as STS. */
const SKEW_MS = 15 * 60_000;

/**
 * Starts an STS emulator for local mode, tests and benchmarks. The emulator serves AssumeRole and GetCallerIdentity
 * over the wire protocol of STS.
 */
export async function startSTSEmulator(options: STSEmulatorOptions): Promise<STSEmulator> {
  const emulator = new Emulator(options);
  const server = createServer(TIMEOUTS, (request, response) => {
    if (!isExcess(request.socket)) void emulator.serve(request, response);
    else if (!request.socket.destroyed) send(response, tooManyConnections());
  });
  const isExcess = limitConnections(server, CONNECTIONS, systemClock);
  server.listen(options.port ?? 0, options.host ?? "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://${formatListenAddress(boundAddress(server))}`,
    calls: emulator.calls,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

class Emulator {
  readonly calls: STSCall[] = [];
  readonly #principals: Principals;
  readonly #now: () => number;
  readonly #intercept: NonNullable<STSEmulatorOptions["intercept"]>;

  constructor(options: STSEmulatorOptions) {
    this.#now = options.now ?? Date.now;
    this.#intercept = options.intercept ?? (async () => null);
    this.#principals = new Principals(options.baseCredentials, this.#now, options.randomBytes ?? cryptoRandomBytes);
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const requestID = randomUUID();
    // SDKs use the Date header to correct their clock.
    response.setHeader("Date", new Date(this.#now()).toUTCString());
    try {
      const body = await readBody(request);
      const form = readForm(body);
      const respond = await this.#intercept(this.#record(form), request);
      const document = renderResult(form.get("Action") ?? "", await this.#answer(request, body, form), requestID);
      if (respond === null) send(response, { status: 200, document, requestID });
      else respond(response, document);
    } catch (error) {
      const failure = error instanceof STSErrorResponse ? error : INTERNAL_FAILURE;
      send(response, { status: failure.status, document: renderError(failure, requestID), requestID });
    }
  }

  #record(form: URLSearchParams): STSCall {
    const duration = form.get("DurationSeconds");
    const recorded = (name: string): string | null => {
      const value = form.get(name);
      return value !== null && value.length <= RECORDED_CHARACTERS ? value : null;
    };
    const call = {
      action: recorded("Action") ?? "",
      roleARN: recorded("RoleArn"),
      sessionName: recorded("RoleSessionName"),
      durationSeconds: duration === null ? null : Number(duration),
    };
    this.calls.push(call);
    if (this.calls.length > RECORDED_CALLS) this.calls.shift();
    return call;
  }

  async #answer(request: IncomingMessage, body: Buffer, form: URLSearchParams): Promise<Content> {
    const action = request.method === "POST" ? (form.get("Action") ?? "") : "";
    if (action === "") {
      throw new STSErrorResponse("MissingAction", 400, "The request must be a POST with an Action in its form body.");
    }
    const find = (accessKeyID: string): Principal | undefined => this.#principals.find(accessKeyID);
    const caller = await verifySignature(request, body, readSignedHeaders(request, find), {
      nowMs: this.#now(), skewMs: SKEW_MS,
    });
    if (action === "AssumeRole") return this.#assumeRole(form, caller);
    if (action === "GetCallerIdentity") return { Arn: caller.arn, UserId: caller.userID, Account: caller.accountID };
    const version = form.get("Version") ?? "NO_VERSION_SPECIFIED";
    throw new STSErrorResponse("InvalidAction", 400, `Could not find operation ${action} for version ${version}`);
  }

  #assumeRole(form: URLSearchParams, caller: Principal): Content {
    const request = readAssumeRole(form);
    if (caller.isRoleSession && request.durationSeconds > MAX_CHAINED_SECONDS) throw chainedDurationError();
    const session = this.#principals.assume(request);
    return {
      AssumedRoleUser: { AssumedRoleId: `${roleID(request.roleARN)}:${request.sessionName}`, Arn: session.arn },
      Credentials: {
        AccessKeyId: session.accessKeyID,
        SecretAccessKey: session.secretAccessKey,
        SessionToken: session.sessionToken,
        Expiration: formatExpiration(session.expirationMs),
      },
      PackedPolicySize: packedPolicySize(request),
      SourceIdentity: request.sourceIdentity ?? undefined,
    };
  }
}

/**
 * Returns an approximation of the PackedPolicySize that STS returns, in percent; undefined if the request has no
 * policies and no tags.
 */
function packedPolicySize({ policy, policyARNs, tags }: AssumeRoleForm): string | undefined {
  const texts = [policy ?? "", ...policyARNs, ...tags.flatMap(({ key, value }) => [key, value])];
  const characters = texts.reduce((sum, text) => sum + text.length, 0);
  return characters === 0 ? undefined : String(Math.ceil(characters / 256));
}

function tooManyConnections(): Result {
  const requestID = randomUUID();
  const message = `The emulator serves ${CONNECTIONS.served} connections, which is the limit.`;
  const error = new STSErrorResponse("ServiceUnavailable", 503, message);
  return { status: error.status, document: renderError(error, requestID), requestID };
}

interface Result {
  readonly status: number;
  readonly document: string;
  readonly requestID: string;
}

function send(response: ServerResponse, { status, document, requestID }: Result): void {
  response.writeHead(status, { "Content-Type": "text/xml", "x-amzn-RequestId": requestID }).end(document);
}

/** Returns the raw bytes of the body, because the signature covers the raw bytes. */
async function readBody(request: IncomingMessage): Promise<Buffer> {
  const joined = new JoinedChunks(BODY_LIMIT_BYTES);
  // The chunks are Buffers if the stream has no encoding. The types of Node.js declare the chunks as `any`.
  const received: AsyncIterable<Buffer> = request;
  for await (const bytes of received) {
    if (joined.bytes.length + bytes.length > BODY_LIMIT_BYTES) {
      const message = `The body is larger than ${BODY_LIMIT_BYTES} bytes.`;
      throw new STSErrorResponse("RequestEntityTooLarge", 413, message);
    }
    joined.add(bytes);
  }
  return joined.bytes;
}
