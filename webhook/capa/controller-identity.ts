import { REFERRERS } from "../../shared/capa/referrers.ts";
import { IDENTITIES } from "../../shared/capa/identities.ts";
import { errorMessage } from "../../shared/formats/errors.ts";
import {
  CONTROLLER_IDENTITY, CONTROLLER_IDENTITY_NAME, identityPlural, INFRASTRUCTURE_GROUP,
} from "../../shared/core/capa-kinds.ts";
import { repeat } from "../../shared/core/clock.ts";
import { rejectionText, sendRequest } from "../../shared/api/send-request.ts";
import { drain } from "../../shared/formats/paced.ts";
import { printable } from "../../shared/formats/text.ts";
import { referrerName, visitUsers } from "../../shared/capa/identity-chain.ts";
import { RETRY_MS } from "../../shared/server/retry-queue.ts";
import type { LeaderPorts, LeaderTask, StartTask } from "../reconciling/leader-task.ts";
import { FIELD_MANAGER } from "../reconciling/refresher.ts";

interface ControllerIdentityOptions extends Omit<LeaderPorts, "settings" | "flags" | "report"> {
  /** The namespaces of --auto-controller-identity. With [], the identity is created only while no cluster uses it. */
  readonly namespaces: readonly string[];
}

/** Creates the identity if --auto-controller-identity is set. */
export const controllerIdentityTask: StartTask = (ports) => {
  const { autoControllerIdentity: names } = ports.flags;
  if (names.length === 0) return null;
  return new ControllerIdentityCreator({ ...ports, namespaces: names.join() === "none" ? [] : names });
};

const TICK_MS = 500;
const PLURAL = identityPlural(CONTROLLER_IDENTITY);
const ITEM = `${CONTROLLER_IDENTITY}.${INFRASTRUCTURE_GROUP}`;
const REFERENCE = { kind: CONTROLLER_IDENTITY, name: CONTROLLER_IDENTITY_NAME, namespace: "" } as const;
/**
 * CAPA sets this label on an identity that has no labels. `clusterctl move` moves only identities that have it. Source:
 * kubernetes-sigs/cluster-api-provider-aws 2cf09d7, api/v1beta2/defaults.go.
 */
const LABELS = { "clusterctl.cluster.x-k8s.io/move-hierarchy": "" };
const FIX = `grant the verb create on ${PLURAL} of ${INFRASTRUCTURE_GROUP}: apply the objects of `
  + "`manifests rbac --auto-controller-identity`";

/** The number of clusters that a log line names. */
const MAX_NAMED = 10;

/**
 * Creates the AWSClusterControllerIdentity `default` while it does not exist, with an explicit list of namespaces.
 * Shipped CAPA creates it with `allowedNamespaces: {}`, which allows every namespace. Never changes an identity: CAPA
 * does not allow that.
 */
class ControllerIdentityCreator implements LeaderTask {
  readonly #options: ControllerIdentityOptions;
  /** The number of attempts since the identity was missing, and the steady time of the next attempt. */
  #attempts = 0;
  #nextMs = 0;
  #fault: string | null = null;

  constructor(options: ControllerIdentityOptions) {
    this.#options = options;
  }

  /** Creates the identity whenever it is missing, until `stopping` aborts. Never rejects. */
  async run(stopping: AbortSignal): Promise<void> {
    await repeat(this.#options.clock, stopping, async () => {
      await this.#createIfMissing();
      return TICK_MS;
    });
  }

  async #createIfMissing(): Promise<void> {
    const { clock, mayWrite } = this.#options;
    const version = mayWrite() ? this.#versionIfMissing() : null;
    if (version === null) {
      this.#attempts = 0;
      this.#nextMs = 0;
      return;
    }
    if (clock.steady() < this.#nextMs) return;
    const isCreated = await this.#create(version);
    // After a success too, the watch can deliver the identity late.
    this.#attempts = isCreated ? 0 : this.#attempts;
    this.#nextMs = clock.steady() + (RETRY_MS[Math.min(this.#attempts, RETRY_MS.length - 1)] ?? 0);
    this.#attempts += 1;
  }

  /** Returns the version in which to create the identity; null if it exists, or if its kind is not installed. */
  #versionIfMissing(): string | null {
    const { inventory } = this.#options.source;
    const isListed = !inventory.unlisted(IDENTITIES).has(ITEM);
    if (!isListed || inventory.of(IDENTITIES).get(REFERENCE, "") !== null) return null;
    return inventory.kinds.servedVersion(INFRASTRUCTURE_GROUP, CONTROLLER_IDENTITY);
  }

  /** Returns whether this replica has created the identity. */
  async #create(version: string): Promise<boolean> {
    const { log, namespaces } = this.#options;
    const lockedOut = this.#lockedOut();
    const reason = namespaces.length === 0 ? this.#reasonToWait(lockedOut) : null;
    if (reason !== null) return this.#fail(reason, null);
    const path = `/apis/${INFRASTRUCTURE_GROUP}/${version}/${PLURAL}?fieldManager=${FIELD_MANAGER}`;
    const request = { method: "POST", path, body: JSON.stringify(this.#identity(version)) } as const;
    try {
      const response = await sendRequest(this.#options, request);
      const { status } = response;
      // The API server does not serve a new kind immediately.
      if (status === 404) return false;
      if (status !== 201 && status !== 409) return this.#fail(rejectionText(request, response), status);
      this.#fault = null;
      this.#count(status === 201 ? "ok" : "exists");
      if (status === 201) {
        const level = lockedOut.length > 0 ? "warn" : "info";
        log[level]({ namespaces, lockedOut }, `created the ${CONTROLLER_IDENTITY} ${CONTROLLER_IDENTITY_NAME}`);
      }
      return status === 201;
    } catch (error) {
      return this.#fail(errorMessage(error), null);
    }
  }

  /** Returns why an identity that allows no namespace may not be created now, or null. */
  #reasonToWait(lockedOut: readonly string[]): string | null {
    const { inventory } = this.#options.source;
    const unlisted = [...inventory.unlisted(REFERRERS), ...inventory.unlisted(IDENTITIES)];
    if (unlisted.length > 0) return `it is unknown which objects use it: ${unlisted.join(", ")} are not listed`;
    if (lockedOut.length === 0) return null;
    return `these objects use it, and it would allow no namespace: ${lockedOut.join(", ")}; list their namespaces in `
      + "--auto-controller-identity";
  }

  /** Returns the first objects that use the identity, or a role of which it is the source, in other namespaces. */
  #lockedOut(): readonly string[] {
    const { source: { inventory }, namespaces } = this.#options;
    const names: string[] = [];
    drain(visitUsers(inventory, REFERENCE, (user) => {
      if (!namespaces.includes(user.namespace)) names.push(printable(referrerName(user)));
      return names.length < MAX_NAMED;
    }));
    return names;
  }

  #identity(version: string): object {
    const { namespaces } = this.#options;
    return {
      apiVersion: `${INFRASTRUCTURE_GROUP}/${version}`, kind: CONTROLLER_IDENTITY,
      metadata: { name: CONTROLLER_IDENTITY_NAME, labels: LABELS },
      spec: { allowedNamespaces: { list: namespaces } },
    };
  }

  /** Counts the failure. Logs a fault once, until the identity is created or exists. */
  #fail(fault: string, status: number | null): false {
    this.#count("failed");
    const isNew = this.#fault === null;
    this.#fault = fault;
    const message = `the ${CONTROLLER_IDENTITY} of --auto-controller-identity cannot be created; retrying`;
    if (isNew) this.#options.log.warn({ fault, ...(status === 403 && { fix: FIX }) }, message);
    return false;
  }

  #count(outcome: "ok" | "exists" | "failed"): void {
    this.#options.metrics.controllerIdentityCreations.inc({ outcome });
  }
}
