import type { Clock } from "../clock.ts";
import type { KubernetesAPI, KubernetesResponse } from "./api.ts";

export interface WatchedRequest {
  readonly api: KubernetesAPI;
  readonly clock: Clock;
  readonly path: string;
  /** Ends the request from outside. */
  readonly signal: AbortSignal;
  /** How long it may be without a byte, in ms, the time to connect included. */
  readonly idleMs: number;
  /** How long it may take as a whole, in ms. */
  readonly totalMs: number;
}

/** The server fell silent, which TCP alone may take many minutes to notice. */
export class Silence extends Error {}

/**
 * Sends a GET and hands its answer to `use`, and breaks it off when no byte comes for `idleMs` or it is not over in `totalMs`. Nothing
 * is left open when it returns or throws.
 */
export async function watchedRequest<T>(request: WatchedRequest, use: (response: KubernetesResponse) => Promise<T>): Promise<T> {
  const watchdog = new Watchdog(request);
  try {
    const response = await request.api.request({ path: request.path, signal: watchdog.signal });
    watchdog.feed();
    return await use({ ...response, body: watchdog.watch(response.body) });
  } catch (error) {
    throw watchdog.silence ?? error;
  } finally {
    watchdog.end();
  }
}

class Watchdog {
  readonly #request: WatchedRequest;
  readonly #abort = new AbortController();
  readonly #onStop = (): void => this.#abort.abort();
  readonly #cancelTotal: () => void;
  #cancelIdle: () => void;
  silence: Silence | null = null;

  constructor(request: WatchedRequest) {
    this.#request = request;
    request.signal.addEventListener("abort", this.#onStop);
    if (request.signal.aborted) this.#abort.abort();
    this.#cancelTotal = this.#after(request.totalMs, "the API server did not end the answer within");
    this.#cancelIdle = this.#afterSilence();
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  feed(): void {
    this.#cancelIdle();
    this.#cancelIdle = this.#afterSilence();
  }

  async *watch(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of body) {
      this.feed();
      yield chunk;
    }
  }

  end(): void {
    this.#cancelTotal();
    this.#cancelIdle();
    this.#request.signal.removeEventListener("abort", this.#onStop);
    this.#abort.abort();
  }

  #afterSilence(): () => void {
    return this.#after(this.#request.idleMs, "nothing came from the API server for");
  }

  #after(delayMs: number, what: string): () => void {
    return this.#request.clock.schedule(delayMs, () => {
      this.silence = new Silence(`${what} ${delayMs / 1000} s`);
      this.#abort.abort();
    });
  }
}
