/** A page of a list. `continuation` is the token of the next page, or "" on the last page. */
export interface Page {
  readonly continuation: string;
}

/**
 * Yields the pages of a list until the last page. `read` receives the query parameter of the page: "" for the first
 * page, then `&continue=TOKEN`.
 */
export async function* readPages<P extends Page>(read: (query: string) => Promise<P>): AsyncGenerator<P, void> {
  let query = "";
  for (;;) {
    // Pages are read in sequence: each page contains the token of the next page.
    // oxlint-disable-next-line no-await-in-loop
    const page = await read(query);
    yield page;
    if (page.continuation === "") return;
    query = `&continue=${encodeURIComponent(page.continuation)}`;
  }
}
