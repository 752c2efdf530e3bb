import { connectKubernetes, openKubeconfig } from "../../shared/api/kubeconfig.ts";
import type { KubernetesAPI } from "../../shared/api/api.ts";
import { sendRequest } from "../../shared/api/send-request.ts";
import { collectionPath, METADATA_TYPES } from "../../shared/api/watched-kind.ts";
import { type Clock, withTimeout } from "../../shared/core/clock.ts";
import { LIMITS } from "../../shared/core/limits.ts";
import { field, stringAt } from "../../shared/formats/json.ts";
import type { Cursor } from "./cursor.ts";

const LIMIT_MS = LIMITS.completionWait.value;

interface NamedCollection {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly namespace?: string;
}

type NamesOf = Pick<Cursor, "flags" | "positionals" | "command">;

/** The names in the cluster of a command line. Every list is empty if the cluster does not answer in time. */
export class ClusterNames {
  readonly #flags: ReadonlyMap<string, string>;
  readonly #clock: Clock;
  /** Whether the command line reads a cluster. */
  readonly isUsed: boolean;

  constructor({ flags, positionals, command }: NamesOf, isPlugin: boolean, clock: Clock) {
    this.#flags = flags;
    this.#clock = clock;
    const hasFiles = flags.has("from") || (positionals.length > 0 && command !== "why" && command !== "impact");
    this.isUsed = flags.has("cluster") || (isPlugin && !hasFiles);
  }

  get namespace(): string | null {
    return this.#flags.get("namespace") ?? null;
  }

  /** Returns the names of the objects in a collection. */
  async in(collection: NamedCollection): Promise<readonly string[]> {
    const path = `${collectionPath(collection)}?limit=${LIMITS.completedNames.value}`;
    return await this.#items(path, "items", ["metadata", "name"]);
  }

  /** Returns the API groups that the cluster serves. */
  async groups(): Promise<readonly string[]> {
    return await this.#items("/apis", "groups", ["name"]);
  }

  /** Returns the contexts of the kubeconfig, and the namespace of the selected one. */
  async contexts(): Promise<{ readonly names: readonly string[]; readonly namespace: string | null }> {
    const opened = await openKubeconfig(this.#choice).catch(() => null);
    return opened?.contexts ?? { names: [], namespace: null };
  }

  get #choice(): Parameters<typeof connectKubernetes>[0] {
    return { kubeconfig: this.#flags.get("kubeconfig") ?? null, context: this.#flags.get("context") ?? null };
  }

  async #items(path: string, list: string, name: readonly string[]): Promise<readonly string[]> {
    if (!this.isUsed) return [];
    try {
      const api = await connectKubernetes(this.#choice);
      return await withTimeout(this.#clock, LIMIT_MS, this.#request(api, path, list, name), tooLate);
    } catch {
      // A shell has no place for an error.
      return [];
    }
  }

  async #request(api: KubernetesAPI, path: string, list: string, name: readonly string[]): Promise<readonly string[]> {
    const accept = list === "items" ? METADATA_TYPES.list : "application/json";
    const { object } = await sendRequest({ api, clock: this.#clock }, { path, accept }, { timeoutMs: LIMIT_MS });
    const items = field(object, list);
    return (Array.isArray(items) ? items : []).flatMap((item: unknown) => stringAt(item, ...name) ?? []);
  }
}

function tooLate(): Error {
  return new Error("the cluster needs too long");
}
