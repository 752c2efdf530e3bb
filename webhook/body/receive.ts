import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { ResolverError } from "../../shared/decisions/errors.ts";
import { stringAt } from "../../shared/decisions/kubernetes/json.ts";
import { LIMITS } from "../../shared/decisions/limits.ts";
import type { LargeBodies, LargeBody } from "./large-bodies.ts";
import { readHead, scanReview } from "./scan.ts";

/** The received body of an AdmissionReview. */
export interface ReceivedBody {
  /** The body, or its start if a part is missing. */
  readonly bytes: Buffer;
  /** Why a part is missing: the body is too large, or the webhook stores too many large bodies. */
  readonly missing: "too large" | "discarded" | null;
}

const HEAD_BYTES = LIMITS.reviewHeadBytes.value;
const MAX_STORED = LIMITS.reviewBytes.value;

/** The body of one review. Stores all of it, or only its start. */
export class ReviewUpload {
  readonly #bodies: LargeBodies;
  readonly #address: string;
  /** Null if the headers do not state the size of the body. */
  readonly #announced: number | null;
  #chunks: Buffer[] = [];
  #size = 0;
  #missing: ReceivedBody["missing"] = null;
  #large: LargeBody | null = null;

  constructor({ headers, socket }: IncomingMessage, bodies: LargeBodies) {
    const length = headers["transfer-encoding"] === undefined ? headers["content-length"] : undefined;
    this.#announced = length === undefined ? null : Number(length);
    this.#address = socket.remoteAddress ?? "";
    this.#bodies = bodies;
  }

  /**
   * Receives the body. Resolves early if a part is missing, because the start is sufficient to deny a review.
   * Otherwise, a tenant could keep the webhook busy with huge objects until the API server's timeout. Ignores the other
   * bytes, but does not close the connection: the call would fail if the API server is still sending the body, and the
   * failurePolicy could admit the object. Rejects with ERR_REQUEST_MALFORMED.
   */
  async receive(payload: Readable): Promise<ReceivedBody> {
    for await (const chunk of payload.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      this.#add(chunk);
      if (this.#missing !== null) break;
    }
    if (this.#missing !== null) payload.resume();
    else if (this.#announced !== null && this.#announced !== this.#size) {
      const message = "The length of the body differs from the Content-Length header.";
      throw new ResolverError("ERR_REQUEST_MALFORMED", message);
    }
    if (this.#large !== null) this.#bodies.complete(this.#large);
    const bytes = Buffer.concat(this.#chunks);
    this.#chunks = [];
    return { bytes, missing: this.#missing };
  }

  /** Stops counting the body, after the response to the review. */
  end(): void {
    if (this.#large !== null) this.#bodies.remove(this.#large);
  }

  #add(chunk: Buffer): void {
    this.#size += chunk.length;
    if (this.#missing !== null) return;
    this.#chunks.push(chunk);
    if (this.#size <= HEAD_BYTES) return;
    if (Math.max(this.#size, this.#announced ?? 0) > MAX_STORED) this.#discard("too large");
    else if (this.#large === null) this.#count();
  }

  #count(): void {
    const start = Buffer.concat(this.#chunks);
    const head = readHead(start, scanReview(start, false).headBytes ?? 0);
    const requester = stringAt(head, "request", "userInfo", "username") ?? "";
    const bytes = this.#announced ?? MAX_STORED;
    this.#large = { address: this.#address, requester, bytes, discard: () => this.#discard("discarded") };
    this.#bodies.add(this.#large);
  }

  #discard(reason: "too large" | "discarded"): void {
    this.#missing = reason;
    // Copies the start, so that the other bytes are freed.
    this.#chunks = [Buffer.from(Buffer.concat(this.#chunks).subarray(0, HEAD_BYTES))];
    this.end();
  }
}
