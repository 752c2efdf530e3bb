import { unknownGroups } from "../decisions/ack-groups.ts";
import type { JsonObject } from "../decisions/json.ts";
import { objectMeta } from "../decisions/object-meta.ts";
import { KindFeed, type KindFeedOptions } from "./kind-feed.ts";
import { resourceKind } from "./resource-kinds.ts";
import { Turns } from "./turns.ts";
import { collectionPath, type ObjectName, type WatchedKind } from "./watched-kind.ts";

/** With some hundred kinds installed, the pages in flight would weigh more than all that is kept of them. */
const LISTS_AT_ONCE = 2;

export interface ResourceFeedsOptions extends Omit<KindFeedOptions, "kind" | "sort" | "isAwaited" | "turns" | "onObjects"> {
  readonly extraGroups: readonly string[];
  /** Adds to what is done with each object. */
  readonly observed: (kind: WatchedKind) => WatchedKind;
}

/** A feed for each ACK kind that is installed, by its CustomResourceDefinition's name: begun and dropped as definitions come and go. */
export class ResourceFeeds {
  readonly #options: ResourceFeedsOptions;
  readonly #turns = new Turns(LISTS_AT_ONCE);
  readonly #feeds = new Map<string, { readonly path: string; readonly feed: KindFeed }>();
  readonly #stopping = new Set<Promise<void>>();

  constructor(options: ResourceFeedsOptions) {
    this.#options = options;
  }

  *[Symbol.iterator](): Generator<KindFeed> {
    for (const { feed } of this.#feeds.values()) yield feed;
  }

  /**
   * Follows the definitions. Until the source is loaded every kind is awaited, but for those of groups that nobody granted rights to: a
   * service that is newer than this release must not keep a restarted process from all it can do.
   */
  update(put: readonly JsonObject[], removed: readonly ObjectName[]): void {
    for (const { name } of removed) this.#drop(name);
    for (const definition of put) this.#put(definition);
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#stopping, ...Array.from(this, (feed) => feed.stop())]);
  }

  #put(definition: JsonObject): void {
    const { name } = objectMeta(definition);
    const kind = resourceKind(definition);
    const path = kind === null ? "" : collectionPath(kind);
    if (this.#feeds.get(name)?.path === path) return;
    this.#drop(name);
    if (kind === null) return;
    const isAwaited = unknownGroups([kind.group], this.#options.extraGroups).length === 0;
    const feed = new KindFeed({ ...this.#options, kind: this.#options.observed(kind), sort: "resources", isAwaited, turns: this.#turns });
    this.#feeds.set(name, { path, feed });
    feed.start();
  }

  #drop(name: string): void {
    const dropped = this.#feeds.get(name);
    if (dropped === undefined) return;
    this.#feeds.delete(name);
    const stopping = dropped.feed.drop().finally(() => this.#stopping.delete(stopping));
    this.#stopping.add(stopping);
  }
}
