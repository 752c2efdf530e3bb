import { LIMITS } from "../contract/limits.ts";
import { BodyTooLarge } from "./api.ts";

/** A page of a list. `continuation` is the token of the next page, or "" on the last page. */
export interface Page {
  readonly continuation: string;
}

export interface PageRequest {
  /** The query parameters `limit` and `continue`. */
  readonly query: string;
  /** The maximum size of the response. If it is exceeded, `read` must reject with BodyTooLarge. */
  readonly maxBytes: number;
}

/**
 * The maximum size of a page, in bytes. Objects can have 1.5 MiB, so 500 objects of one user could exceed the memory of
 * the process. A page that is too large is requested again with fewer objects.
 */
const MAX_BYTES = LIMITS.listPageBytes.value;
/** The maximum size of a page with one object. The API server can escape characters as six bytes. */
const MAX_OBJECT_BYTES = 16 * 1024 * 1024;
const SHRINK_FACTOR = 8;

/**
 * Yields the pages of a list until the last page. A page has at most `pageSize` objects. Rejects with BodyTooLarge if
 * one object is too large.
 */
export async function* readPages<P extends Page>(
  pageSize: number, read: (request: PageRequest) => Promise<P>,
): AsyncGenerator<P, void> {
  let limit = pageSize;
  let next = "";
  // Pages are read in sequence: each page contains the token of the next page.
  for (;;) {
    const maxBytes = limit === 1 ? MAX_OBJECT_BYTES : MAX_BYTES;
    // oxlint-disable-next-line no-await-in-loop
    const page = await nullIfTooLarge(read({ query: `limit=${limit}${next}`, maxBytes }));
    if (page === null) {
      if (limit === 1) throw new BodyTooLarge(`an object has more than ${maxBytes} bytes`);
      limit = Math.ceil(limit / SHRINK_FACTOR);
      continue;
    }
    yield page;
    if (page.continuation === "") return;
    next = `&continue=${encodeURIComponent(page.continuation)}`;
  }
}

async function nullIfTooLarge<P>(page: Promise<P>): Promise<P | null> {
  try {
    return await page;
  } catch (error) {
    if (error instanceof BodyTooLarge) return null;
    throw error;
  }
}
