import type { ClusterPorts } from "../../shared/api/api.ts";
import { Outage } from "../../shared/api/outage.ts";
import { Reflector } from "../../shared/api/reflector.ts";
import { isSuccess, sendExpecting, storeObject } from "../../shared/api/send-request.ts";
import type { ObjectName, WatchedKind } from "../../shared/api/watched-kind.ts";
import { labelsOf } from "../../shared/core/installation.ts";
import { type JsonObject, type PatchOperation, stringAt } from "../../shared/formats/json.ts";

interface WatchedObjectsOptions extends ClusterPorts {
  /** The Secret that contains the CA. */
  readonly secret: ObjectName;
  /** The Secret that contains the serving certificate. */
  readonly serving: ObjectName;
  /** The name of both webhook configurations. */
  readonly configuration: string;
  /** Whether this process holds the Lease. Another process writes nothing. */
  readonly mayWrite: () => boolean;
  readonly onChange: () => void;
  /** Receives why an object is not current; null when it is current again. */
  readonly onFault: (object: string, fault: string | null) => void;
}

/** The last known state of an object: undefined if it was never read, null if it does not exist. */
type Watched = JsonObject | null | undefined;

/** An operation of a JSON patch that the API server receives. The patch fails if a test fails. */
export type TestedOperation = PatchOperation | { readonly op: "test"; readonly path: string; readonly value: unknown };

/** The result of a write. `conflict`: another client changed or deleted the object at the same time. */
export type WriteOutcome = "ok" | "conflict" | "skipped";

/** The field manager, which `kubectl get --show-managed-fields` shows. */
const MANAGER = "?fieldManager=ack-role-resolver-certificates";

const CONFIGURATIONS = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"] as const;

/** How long a deleted Secret stays deleted, in ms: an uninstallation deletes it before this process is stopped. */
const DELETED_MS = 10_000;

/** Watches the Secrets and both webhook configurations. Each watch selects one name, because RBAC limits the names. */
export class WatchedObjects {
  readonly #options: WatchedObjectsOptions;
  readonly #reflectors: readonly Reflector[];
  readonly #outage: Outage;
  /** The objects by kind and name. */
  readonly #objects = new Map<string, JsonObject | null>();
  /** The steady time at which each object was deleted, by kind and name. */
  readonly #deleted = new Map<string, number>();
  /** The kinds and names whose list or watch has failed. */
  readonly #failed = new Set<string>();

  constructor(options: WatchedObjectsOptions) {
    this.#options = options;
    this.#outage = new Outage(options);
    this.#reflectors = kindsOf(options).map((kind) => this.#reflector(kind, options));
  }

  start(): void {
    for (const reflector of this.#reflectors) reflector.start();
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#reflectors.map((one) => one.stop()), this.#outage.stop()]);
  }

  /** The state of a Secret. */
  secret({ name }: ObjectName): Watched {
    return this.#objects.get(keyOf("Secret", name));
  }

  /** Whether a Secret was deleted a moment ago, and must not be created again yet. */
  #isRecentlyDeleted(name: string): boolean {
    const deletedMs = this.#deleted.get(keyOf("Secret", name));
    return deletedMs !== undefined && this.#options.clock.steady() - deletedMs < DELETED_MS;
  }

  /** Whether all objects were read. */
  get isComplete(): boolean {
    return this.#objects.size === this.#reflectors.length;
  }

  /**
   * Whether an object was not read yet, although its list has not failed. The CAs in the configurations and in the
   * Secrets are needed to replace a lost Secret, but a failed list must not delay the renewal of a certificate.
   */
  get isListing(): boolean {
    const keys = kindsOf(this.#options).map(({ kind, object }) => keyOf(kind, object?.name ?? ""));
    return keys.some((key) => !this.#objects.has(key) && !this.#failed.has(key));
  }

  /** The existing configurations, each with its plural name; null if one of them was never read. */
  get configurations(): readonly (readonly [plural: string, object: JsonObject])[] | null {
    const { configuration } = this.#options;
    const all = CONFIGURATIONS.map((kind) => (
      [pluralOf(kind), this.#objects.get(keyOf(kind, configuration))] as const
    ));
    if (all.some(([, object]) => object === undefined)) return null;
    return all.flatMap(([plural, object]) => (object === null || object === undefined ? [] : [[plural, object]]));
  }

  /**
   * Creates or updates a Secret. The update contains the resource version that the replica read. So a replica that is
   * not the leader anymore cannot overwrite the CA of another replica.
   */
  async writeSecret(secret: JsonObject, { namespace, name }: ObjectName): Promise<WriteOutcome> {
    const isNew = stringAt(secret, "metadata", "resourceVersion") === null;
    if (isNew && this.#isRecentlyDeleted(name)) return "skipped";
    const created = { type: "Opaque", metadata: { namespace, name, labels: labelsOf("certificates") } };
    const object = { ...secret, apiVersion: "v1", kind: "Secret", ...(isNew && created) };
    const place = { collection: `/api/v1/namespaces/${namespace}/secrets`, name, query: MANAGER };
    return await this.#write(() => storeObject(this.#options, place, object));
  }

  /**
   * Sets fields of the webhooks in a configuration. A JSON patch changes only these fields, and tests that each webhook
   * is still at its position. Server-side apply would create incomplete webhooks if a user removed them at the same
   * time, and would own the fields, so that a GitOps tool reports a conflict.
   */
  async writeConfiguration(plural: string, patch: readonly TestedOperation[]): Promise<WriteOutcome> {
    const path = `/apis/admissionregistration.k8s.io/v1/${plural}/${this.#options.configuration}${MANAGER}`;
    const contentType = "application/json-patch+json";
    const request = { method: "PATCH", path, contentType, body: JSON.stringify(patch) } as const;
    return await this.#write(async () => {
      // 422: a test of the patch failed. 404: another client deleted the configuration.
      const response = await sendExpecting(this.#options, request, [404, 409, 422]);
      return isSuccess(response) ? response.object : null;
    });
  }

  /** Writes if this process is the leader. Stores the object that the API server returns, before its watch does. */
  async #write(write: () => Promise<JsonObject | null>): Promise<WriteOutcome> {
    if (!this.#options.mayWrite()) return "skipped";
    const object = await write();
    if (object === null) return "conflict";
    const key = keyOf(stringAt(object, "kind") ?? "", stringAt(object, "metadata", "name") ?? "");
    this.#objects.set(key, object);
    this.#deleted.delete(key);
    return "ok";
  }

  #reflector(kind: WatchedKind, options: WatchedObjectsOptions): Reflector {
    const { onChange, onFault, clock } = options;
    const key = keyOf(kind.kind, kind.object?.name ?? "");
    return new Reflector({
      ...options, kind, outage: this.#outage,
      handler: {
        onObjects: (put, removed) => {
          const [stored] = put;
          if (stored?.object) {
            this.#objects.set(key, stored.object);
            this.#deleted.delete(key);
          } else if (removed.length > 0 || !this.#objects.has(key)) {
            if (this.#objects.has(key)) this.#deleted.set(key, clock.steady());
            this.#objects.set(key, null);
          }
          onChange();
        },
        onSync: () => undefined,
        onFault: (fault) => {
          if (fault !== null) this.#failed.add(key);
          onFault(`${kind.plural}/${kind.object?.name ?? ""}`, fault?.message ?? null);
        },
      },
    });
  }
}

function kindsOf({ secret, serving, configuration }: WatchedObjectsOptions): WatchedKind[] {
  const common = { pageSize: 10, transform: (object: JsonObject) => object };
  const configurations = CONFIGURATIONS.map((kind) => ({
    ...common, group: "admissionregistration.k8s.io", version: "v1", kind, plural: pluralOf(kind),
    object: { namespace: "", name: configuration },
  }));
  const ofSecret = { ...common, group: "", version: "v1", kind: "Secret", plural: "secrets" };
  return [{ ...ofSecret, object: secret }, { ...ofSecret, object: serving }, ...configurations];
}

function keyOf(kind: string, name: string): string {
  return `${kind}/${name}`;
}

function pluralOf(kind: (typeof CONFIGURATIONS)[number]): string {
  return `${kind.toLowerCase()}s`;
}
