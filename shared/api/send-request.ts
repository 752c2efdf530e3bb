import { isJsonObject, type JsonObject, parseJSON, stringAt } from "../formats/json.ts";
import { type Clock, withTimeout } from "../core/clock.ts";
import { bodyText, type KubernetesAPI, type KubernetesRequest, type KubernetesResponse, limitedAPI } from "./api.ts";

/** The default timeout of one request, in ms. Three requests in sequence must fit in the time limit of a stop, 10 s. */
const CALL_MS = 3_000;

export interface SendPorts {
  readonly api: KubernetesAPI;
  readonly clock: Pick<Clock, "schedule">;
}

/** The response of the API server to a request for one object. */
export interface ObjectResponse {
  readonly status: number;
  /** The object, or the Status object of an error. Null if the body is not a JSON object. */
  readonly object: JsonObject | null;
  /** The warnings of the response: https://www.rfc-editor.org/rfc/rfc7234#section-5.5; "" if there are none. */
  readonly warning: string;
}

interface SendLimits {
  readonly timeoutMs?: number;
  /** Default: no limit. */
  readonly maxBytes?: number;
  /** Aborts the request, which then rejects. */
  readonly signal?: AbortSignal;
}

/**
 * Sends a request for one object. Rejects if the API server does not respond within `timeoutMs`, or with BodyTooLarge
 * if the response has more than `maxBytes` bytes.
 */
export async function sendRequest(
  { api, clock }: SendPorts, request: Omit<KubernetesRequest, "signal">,
  { timeoutMs = CALL_MS, maxBytes = Infinity, signal }: SendLimits = {},
): Promise<ObjectResponse> {
  const abort = new AbortController();
  const signals = AbortSignal.any([abort.signal, ...(signal === undefined ? [] : [signal])]);
  const response = responseTo(limitedAPI(api, maxBytes), { ...request, signal: signals });
  return await withTimeout(clock, timeoutMs, response, () => {
    abort.abort();
    const { method = "GET", path } = request;
    return new Error(`${method} ${path}: no response within ${timeoutMs / 1000} s`);
  });
}

async function responseTo(api: KubernetesAPI, request: KubernetesRequest): Promise<ObjectResponse> {
  const response = await api.request(request);
  const object = parseJSON(await bodyText(response));
  const { warning = "" } = response.headers;
  return { status: response.status, object: isJsonObject(object) ? object : null, warning: [warning].flat().join() };
}

/** Sends a request like `sendRequest`. Rejects if the status is not 200, 201 or one of `expected`. */
export async function sendExpecting(
  ports: SendPorts, request: Omit<KubernetesRequest, "signal">, expected: readonly number[],
): Promise<ObjectResponse> {
  const response = await sendRequest(ports, request);
  if (isSuccess(response) || expected.includes(response.status)) return response;
  throw new Error(rejectionText(request, response));
}

export function isSuccess({ status }: ObjectResponse): boolean {
  return status === 200 || status === 201;
}

/**
 * Creates an object in the collection, or updates it if it has a resource version. So a client cannot overwrite what it
 * has not read. Returns the stored object, or null if another client created, changed or deleted it at the same time.
 */
export async function storeObject(
  ports: SendPorts, { collection, name, query = "" }: StoredName, object: JsonObject,
): Promise<JsonObject | null> {
  const body = JSON.stringify(object);
  const response = stringAt(object, "metadata", "resourceVersion") === null
    ? await sendExpecting(ports, { method: "POST", path: `${collection}${query}`, body }, [409])
    : await sendExpecting(ports, { method: "PUT", path: `${collection}/${name}${query}`, body }, [404, 409]);
  return isSuccess(response) ? response.object : null;
}

interface StoredName {
  /** The path of the collection. */
  readonly collection: string;
  readonly name: string;
  readonly query?: string;
}

/** Returns what is wrong with a request that the API server rejected, and how to add rights that are missing. */
export function rejectionText(request: RequestName, response: ObjectResponse): string {
  const { status } = response;
  const fix = status === 403 || status === 404 ? "; apply the objects of `ack-role-resolver manifests rbac`" : "";
  return `${responseText(request, response)}${fix}`;
}

type RequestName = Pick<KubernetesRequest, "method" | "path">;

/**
 * Returns the status with which the API server rejected a request. Contains the reason of the Status object, but not
 * its message, which can quote the request.
 */
export function responseText({ method = "GET", path }: RequestName, { status, object }: ObjectResponse): string {
  const reason = stringAt(object, "reason") ?? "no reason";
  return `${method} ${path.split("?", 1)[0] ?? ""}: the API server returned ${status} (${reason})`;
}

interface TimedRequest {
  readonly api: KubernetesAPI;
  readonly clock: Clock;
  readonly path: string;
  readonly accept?: string | undefined;
  /** Aborts the request. */
  readonly signal: AbortSignal;
  /** The maximum time to connect and to receive the response headers, in ms. */
  readonly responseMs: number;
  /** The maximum time between two received parts of the body, in ms. */
  readonly idleMs: number;
  /** The maximum time from the start of the request to the end of the response, in ms. */
  readonly totalMs: number;
}

/**
 * The API server exceeded a time limit of the request. Without time limits, TCP can take minutes to detect a dead
 * connection.
 */
export class RequestTimeout extends Error {}

/**
 * Sends a GET request and passes the response to `use`. Aborts the request if the response does not start within
 * `responseMs`, if no byte of its body arrives for `idleMs`, or if the whole request takes longer than `totalMs`.
 * Closes the request when `use` settles.
 */
export async function requestWithTimeout<T>(
  request: TimedRequest, use: (response: KubernetesResponse) => Promise<T>,
): Promise<T> {
  const timer = new RequestTimer(request);
  try {
    const response = await request.api.request({
      path: request.path, signal: timer.signal, ...(request.accept !== undefined && { accept: request.accept }),
    });
    timer.restartIdle();
    return await use({ ...response, body: timer.watch(response.body) });
  } catch (error) {
    throw timer.timeout ?? error;
  } finally {
    timer.close();
  }
}

class RequestTimer {
  readonly #request: TimedRequest;
  readonly #abort = new AbortController();
  readonly #onAbort = (): void => this.#abort.abort();
  readonly #cancelTotal: () => void;
  #cancelIdle: () => void;
  timeout: RequestTimeout | null = null;

  constructor(request: TimedRequest) {
    this.#request = request;
    request.signal.addEventListener("abort", this.#onAbort);
    if (request.signal.aborted) this.#abort.abort();
    this.#cancelTotal = this.#schedule(request.totalMs, "the API server did not finish its response within");
    this.#cancelIdle = this.#schedule(request.responseMs, "the API server did not respond within");
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  restartIdle(): void {
    this.#cancelIdle();
    this.#cancelIdle = this.#scheduleIdle();
  }

  async *watch(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of body) {
      this.restartIdle();
      yield chunk;
    }
  }

  close(): void {
    this.#cancelTotal();
    this.#cancelIdle();
    this.#request.signal.removeEventListener("abort", this.#onAbort);
    this.#abort.abort();
  }

  #scheduleIdle(): () => void {
    return this.#schedule(this.#request.idleMs, "the API server sent no data for");
  }

  #schedule(delayMs: number, message: string): () => void {
    return this.#request.clock.schedule(delayMs, () => {
      this.timeout = new RequestTimeout(`${message} ${delayMs / 1000} s`);
      this.#abort.abort();
    });
  }
}
