/** A large body that the webhook stores until the response to its review is complete. */
export interface LargeBody {
  /** The address of the client. */
  readonly address: string;
  /** The requester in the review; "" if the review does not name it. */
  readonly requester: string;
  readonly bytes: number;
  /** Discards the body, except for its start. */
  readonly discard: () => void;
}

/**
 * Limits the total size of the large bodies that the webhook stores. At the limit, discards bodies that are not
 * complete: first those of the client with the largest bodies, and of its requester with the largest bodies. So neither
 * a Pod that sends bodies slowly, nor a tenant who writes many large objects, displaces the bodies of others.
 */
export class LargeBodies {
  readonly #maxBytes: number;
  readonly #onDiscarded: () => void;
  readonly #stored = new Set<LargeBody>();
  /** The bodies that have not been received completely, oldest first. */
  readonly #incomplete = new Set<LargeBody>();
  #bytes = 0;

  /** `onDiscarded` is called each time that this class discards a body. */
  constructor(maxBytes: number, onDiscarded: () => void) {
    this.#maxBytes = maxBytes;
    this.#onDiscarded = onDiscarded;
  }

  /** Counts the body. Discards bodies, possibly this one, until the total size is within the limit. */
  add(body: LargeBody): void {
    this.#stored.add(body);
    this.#incomplete.add(body);
    this.#bytes += body.bytes;
    while (this.#bytes > this.#maxBytes && this.#incomplete.size > 0) this.#discardOne();
  }

  /** Records that the body is complete. It is not discarded anymore. */
  complete(body: LargeBody): void {
    this.#incomplete.delete(body);
  }

  /** Stops counting the body. */
  remove(body: LargeBody): void {
    this.#incomplete.delete(body);
    if (this.#stored.delete(body)) this.#bytes -= body.bytes;
  }

  #discardOne(): void {
    const ofClients = totals(this.#stored, clientOf);
    const ofRequesters = totals(this.#stored, requesterOf);
    const rank = (body: LargeBody): readonly [number, number] => (
      [ofClients.get(clientOf(body)) ?? 0, ofRequesters.get(requesterOf(body)) ?? 0]
    );
    const [first, ...others] = this.#incomplete;
    if (first === undefined) return;
    const largest = others.reduce((a, b) => (isGreater(rank(b), rank(a)) ? b : a), first);
    this.remove(largest);
    largest.discard();
    this.#onDiscarded();
  }
}

function clientOf({ address }: LargeBody): string {
  return address;
}

/** A requester of one client, because any client can write any name into a forged review. */
function requesterOf({ address, requester }: LargeBody): string {
  return `${address} ${requester}`;
}

function totals(bodies: Iterable<LargeBody>, keyOf: (body: LargeBody) => string): ReadonlyMap<string, number> {
  const sizes = new Map<string, number>();
  for (const body of bodies) sizes.set(keyOf(body), (sizes.get(keyOf(body)) ?? 0) + body.bytes);
  return sizes;
}

function isGreater([a, b]: readonly [number, number], [otherA, otherB]: readonly [number, number]): boolean {
  return a > otherA || (a === otherA && b > otherB);
}
