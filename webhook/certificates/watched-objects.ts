import { type JsonObject, stringAt } from "../../shared/decisions/kubernetes/json.ts";
import type { SteadyClock } from "../../shared/inventory/clock.ts";
import type { KubernetesAPI } from "../../shared/inventory/cluster/api.ts";
import { Outage } from "../../shared/inventory/cluster/outage.ts";
import { Reflector } from "../../shared/inventory/cluster/reflector.ts";
import type { ObjectName, WatchedKind } from "../../shared/inventory/cluster/watched-kind.ts";

interface WatchedObjectsOptions {
  readonly api: KubernetesAPI;
  readonly clock: SteadyClock;
  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  readonly random: () => number;
  readonly secret: ObjectName;
  /** The name of both webhook configurations. */
  readonly configuration: string;
  readonly onChange: () => void;
  /** Receives why an object is not current; null when it is current again. */
  readonly onFault: (plural: string, fault: string | null) => void;
}

/** The last known state of an object: undefined if it was never read, null if it does not exist. */
type Watched = JsonObject | null | undefined;

const CONFIGURATIONS = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"] as const;

/** Watches the Secret and both webhook configurations. Each watch selects one name, because RBAC limits the names. */
export class WatchedObjects {
  readonly #reflectors: readonly Reflector[];
  readonly #outage: Outage;
  readonly #objects = new Map<string, JsonObject | null>();
  /** The plural names of the kinds whose list or watch has failed. */
  readonly #failed = new Set<string>();

  constructor(options: WatchedObjectsOptions) {
    this.#outage = new Outage(options);
    this.#reflectors = kindsOf(options).map((kind) => this.#reflector(kind, options));
  }

  start(): void {
    for (const reflector of this.#reflectors) reflector.start();
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#reflectors.map((one) => one.stop()), this.#outage.stop()]);
  }

  get secret(): Watched {
    return this.#objects.get("Secret");
  }

  /**
   * Whether an object was not read yet, although its list has not failed. The CAs in the configurations are needed to
   * replace a lost Secret, but a failed list must not delay the renewal of a certificate.
   */
  get isListing(): boolean {
    return CONFIGURATIONS.some((kind) => !this.#objects.has(kind) && !this.#failed.has(pluralOf(kind)));
  }

  /** The existing configurations, each with its plural name; null if one of them was never read. */
  get configurations(): readonly (readonly [plural: string, object: JsonObject])[] | null {
    const all = CONFIGURATIONS.map((kind) => [pluralOf(kind), this.#objects.get(kind)] as const);
    if (all.some(([, object]) => object === undefined)) return null;
    return all.flatMap(([plural, object]) => (object === null || object === undefined ? [] : [[plural, object]]));
  }

  /** Stores the object that the API server returned for a write, before its watch reports the object. */
  store(object: JsonObject): void {
    this.#objects.set(stringAt(object, "kind") ?? "", object);
  }

  #reflector(kind: WatchedKind, options: WatchedObjectsOptions): Reflector {
    const { onChange, onFault } = options;
    return new Reflector({
      ...options, kind, outage: this.#outage,
      handler: {
        onObjects: (put, removed) => {
          const [stored] = put;
          if (stored?.object) this.#objects.set(kind.kind, stored.object);
          else if (removed.length > 0 || !this.#objects.has(kind.kind)) this.#objects.set(kind.kind, null);
          onChange();
        },
        onSync: () => undefined,
        onFault: (fault) => {
          if (fault !== null) this.#failed.add(kind.plural);
          onFault(kind.plural, fault);
        },
      },
    });
  }
}

function kindsOf({ secret, configuration }: WatchedObjectsOptions): WatchedKind[] {
  const common = { pageSize: 10, transform: (object: JsonObject) => object };
  const configurations = CONFIGURATIONS.map((kind) => ({
    ...common, group: "admissionregistration.k8s.io", version: "v1", kind, plural: pluralOf(kind),
    object: { namespace: "", name: configuration },
  }));
  const ofSecret = { ...common, group: "", version: "v1", kind: "Secret", plural: "secrets", object: secret };
  return [ofSecret, ...configurations];
}

function pluralOf(kind: (typeof CONFIGURATIONS)[number]): string {
  return `${kind.toLowerCase()}s`;
}
