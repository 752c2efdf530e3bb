import type { Clock } from "../clock.ts";
import type { KubernetesAPI, KubernetesResponse } from "./api.ts";

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
