import type { IncomingMessage, ServerResponse } from "node:http";

/** A request whose body has not been received completely. */
interface Upload {
  readonly request: IncomingMessage;
  readonly address: string;
  readonly bytes: number;
}

/**
 * Limits the total size of the bodies in flight. At the limit, closes connections that have not sent their whole body
 * yet. The API server sends a body within milliseconds. Without this class, a client that sends bodies slowly could use
 * up the limit, and the webhook would reject the reviews of the API server.
 */
export class Uploads {
  readonly #maxBytes: number;
  readonly #onClosed: () => void;
  /** Oldest first. */
  readonly #open = new Set<Upload>();
  /** Maps each request whose response is not complete to the size of its body. */
  readonly #sizes = new Map<IncomingMessage, number>();
  #bytes = 0;

  /** `onClosed` is called each time that this class closes an upload. */
  constructor(maxBytes: number, onClosed: () => void) {
    this.#maxBytes = maxBytes;
    this.#onClosed = onClosed;
  }

  /**
   * Counts the body of a request until its response is complete. Closes other uploads if the total size would exceed
   * the limit. If this is not sufficient, returns false and does not count the body.
   */
  accept(request: IncomingMessage, response: ServerResponse, bytes: number): boolean {
    const limit = this.#maxBytes - bytes;
    for (let inFlight = this.#bytes; inFlight > limit; inFlight = this.#bytes) {
      if (!this.#closeOne()) return false;
    }
    this.#bytes += bytes;
    this.#sizes.set(request, bytes);
    response.once("close", () => this.#release(request));
    if (bytes > 0) this.#open.add(uploadOf(request, bytes, (upload) => void this.#open.delete(upload)));
    return true;
  }

  /**
   * Closes the connection of one upload: the oldest upload of the address whose uploads have the largest total size.
   * Returns false if there is no upload to close.
   */
  #closeOne(): boolean {
    const sizes = new Map<string, number>();
    for (const { address, bytes } of this.#open) sizes.set(address, (sizes.get(address) ?? 0) + bytes);
    const largest = Math.max(...sizes.values());
    const oldest = [...this.#open].find(({ address }) => sizes.get(address) === largest);
    if (oldest === undefined) return false;
    this.#open.delete(oldest);
    this.#release(oldest.request);
    oldest.request.socket.destroy();
    this.#onClosed();
    return true;
  }

  #release(request: IncomingMessage): void {
    this.#bytes -= this.#sizes.get(request) ?? 0;
    this.#sizes.delete(request);
  }
}

function uploadOf(request: IncomingMessage, bytes: number, onEnd: (upload: Upload) => void): Upload {
  const upload = { request, address: request.socket.remoteAddress ?? "", bytes };
  request.once("end", () => onEnd(upload));
  request.once("close", () => onEnd(upload));
  return upload;
}
