import type { ClusterPorts } from "../../shared/api/api.ts";
import { Reflector } from "../../shared/api/reflector.ts";
import { keyOf, type WatchedKind } from "../../shared/api/watched-kind.ts";
import { field, type JsonObject, stringAt } from "../../shared/formats/json.ts";

interface ReadyServicesOptions extends ClusterPorts {
  /** The namespace of the Services. */
  readonly namespace: string;
  readonly onChange: () => void;
  /** Receives why the EndpointSlices are not current; null when they are current again. */
  readonly onFault: (fault: string | null) => void;
}

/** Watches which Services of a namespace have a ready Pod, in their EndpointSlices, whose names are generated. */
export class ReadyServices {
  /** The name of the Service of each EndpointSlice that has a ready endpoint. */
  readonly #ready = new Map<string, string | null>();
  readonly #reflector: Reflector;

  constructor(options: ReadyServicesOptions) {
    const { namespace, onChange, onFault } = options;
    const kind: WatchedKind = {
      group: "discovery.k8s.io", version: "v1", kind: "EndpointSlice", plural: "endpointslices", namespace,
      pageSize: 100, transform: (object) => (hasReadyEndpoint(object) ? object : null),
    };
    this.#reflector = new Reflector({
      ...options, kind,
      handler: {
        onObjects: (put, removed) => {
          for (const one of removed) this.#ready.delete(keyOf(one));
          for (const one of put) this.#ready.set(keyOf(one), stringAt(one.object, "metadata", "labels", SERVICE_LABEL));
          onChange();
        },
        onSync: () => undefined,
        onFault: (fault) => onFault(fault?.message ?? null),
      },
    });
  }

  start(): void {
    this.#reflector.start();
  }

  async stop(): Promise<void> {
    await this.#reflector.stop();
  }

  /** Whether a Pod of the Service is ready; false if this is not known. */
  has(service: string): boolean {
    return [...this.#ready.values()].includes(service);
  }
}

/** https://kubernetes.io/docs/concepts/services-networking/endpoint-slices/#management */
const SERVICE_LABEL = "kubernetes.io/service-name";

/** An unknown state counts as ready (k8s.io/api discovery/v1, EndpointConditions). */
function hasReadyEndpoint(slice: JsonObject): boolean {
  const endpoints = field(slice, "endpoints");
  return Array.isArray(endpoints) && endpoints.some((one) => field(field(one, "conditions"), "ready") !== false);
}
