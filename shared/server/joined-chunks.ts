/**
 * The received bytes of a body. Copies them into one buffer, because a client can send each byte as a chunk of its own,
 * and the Buffer of a chunk takes about 100 bytes besides its content.
 */
export class JoinedChunks {
  readonly #expected: number;
  #buffer: Buffer = Buffer.alloc(0);
  #length = 0;

  /** `expected` is the length beyond which the buffer grows only as needed. */
  constructor(expected: number) {
    this.#expected = expected;
  }

  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  add(chunk: Buffer): void {
    const length = this.#length + chunk.length;
    // Most bodies are one chunk, which is not copied.
    if (this.#length === 0) this.#buffer = chunk;
    else {
      const capacity = Math.max(length, Math.min(2 * length, this.#expected));
      if (length > this.#buffer.length) this.#buffer = Buffer.concat([this.bytes], capacity);
      chunk.copy(this.#buffer, this.#length);
    }
    this.#length = length;
  }

  /** Copies the first `length` bytes, so that the others are freed. */
  cut(length: number): void {
    this.#buffer = Buffer.from(this.bytes.subarray(0, length));
    this.#length = this.#buffer.length;
  }
}
