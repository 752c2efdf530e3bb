import type { PageData } from "../shared/diagnosis/role-map/page-html.ts";
import { fill, h } from "./dom.ts";
import type { Page } from "./page.ts";
import { readData } from "./page-data.ts";

/** Keeps the page as the server has it, and shows whether it is. */
export class Live {
  readonly #page: Page;
  readonly #status = h("p", { class: "live", role: "status" });
  #isLoading = false;
  #isChanged = false;

  constructor(page: Page) {
    this.#page = page;
  }

  start({ stale }: PageData): void {
    document.body.prepend(this.#status);
    this.#show(stale ?? null);
    const events = new EventSource("events");
    events.addEventListener("message", () => void this.#load());
    events.addEventListener("open", () => void this.#load());
    events.addEventListener("error", () => this.#show("the server does not answer"));
  }

  /** Loads the data again, once for all changes that arrive meanwhile. */
  async #load(): Promise<void> {
    this.#isChanged = true;
    if (this.#isLoading) return;
    this.#isLoading = true;
    while (this.#isChanged) {
      this.#isChanged = false;
      // oxlint-disable-next-line no-await-in-loop -- one load at a time
      await this.#loadOnce().catch(() => this.#show("the server does not answer"));
    }
    this.#isLoading = false;
  }

  async #loadOnce(): Promise<void> {
    const response = await fetch("data.json");
    if (!response.ok) throw new Error(String(response.status));
    const data = readData(await response.text());
    this.#page.load(data.maps);
    this.#show(data.stale ?? null);
  }

  #show(stale: string | null): void {
    const time = new Date().toLocaleTimeString();
    this.#status.classList.toggle("stale", stale !== null);
    if (stale === null) fill(this.#status, `Live, as of ${time}`);
    else fill(this.#status, `Stale since ${time}: `, h("bdi", {}, stale));
  }
}
