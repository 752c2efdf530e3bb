import type { RoleGrant } from "../../shared/resolution/grant.ts";
import { describeIdentity } from "../../shared/resolution/identity-denials.ts";
import { identitySubject, selectorSubject } from "../../shared/checks/problem.ts";
import type { SteadyClock } from "../../shared/clock.ts";
import type { KubernetesAPI } from "../../shared/cluster/api.ts";
import type { InventorySource } from "../../shared/sources/source.ts";
import { BoundedMap } from "../../shared/server/bounded-map.ts";
import { EventRecorder } from "../../shared/server/events.ts";
import type { Logger } from "../../shared/server/logger.ts";
import { affectedClusters, affectedResources } from "./affected-objects.ts";
import type { RefusedRole } from "./refused-identities.ts";
import type { SidecarMetrics } from "../metrics.ts";
import type { UpstreamSTSError } from "../sts-upstream/errors.ts";
import { identityTrustPolicyFix, trustPolicyFix } from "./trust-policy-fix.ts";
import type { EventSubject } from "../../shared/formats/object-meta.ts";

interface RoleEventPorts {
  readonly api: KubernetesAPI;
  readonly clock: SteadyClock;
  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  readonly random: () => number;
  readonly log: Logger;
  readonly metrics: Pick<SidecarMetrics, "events">;
  readonly source: Pick<InventorySource, "inventory">;
  /** The groups of --group. */
  readonly groups: readonly string[];
  /** Returns the ARN of the base identity; null until STS verifies the identity. */
  readonly baseARN: () => string | null;
  /** The unique name of the sidecar. */
  readonly identity: string;
}

/** The minimum time between two searches for the objects that use the role of one selector or identity, in ms. */
const SEARCH_MS = 30 * 60_000;
/** The maximum number of selectors and identities whose search time is stored. */
const MAX_SEARCHES = 1_000;

/**
 * Writes Events about roles that STS rejects: on the IAMRoleSelector or the identity, and on objects that use the role.
 * So a user of a resource or cluster sees why its controller gets no credentials.
 */
export class RoleEvents {
  readonly #ports: RoleEventPorts;
  readonly #events: EventRecorder;
  readonly #stopping = new AbortController();
  /** The steady time of the last search of each selector and identity. */
  readonly #searchedMs = new BoundedMap<string, number>(MAX_SEARCHES);
  #running: Promise<void> = Promise.resolve();
  /** The searches, one after the other. */
  #searching: Promise<void> = Promise.resolve();

  constructor(ports: RoleEventPorts) {
    this.#ports = ports;
    this.#events = new EventRecorder({ ...ports, controller: "ack-role-resolver.io/sidecar", mayWrite: () => true });
  }

  start(): void {
    this.#running = this.#events.run(this.#stopping.signal);
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  /** Reports that STS rejected the role of the grant. Never waits and never throws. */
  refused(grant: RoleGrant, error: UpstreamSTSError): void {
    const { source: { inventory }, baseARN } = this.#ports;
    for (const name of grant.selectors) {
      const selector = inventory.selectors.get(name);
      if (selector === undefined) continue;
      const object = `IAMRoleSelector ${name}`;
      const fix = trustPolicyFix(grant, baseARN());
      const note = noteOf({ roleARN: grant.roleARN, object, error, fix });
      const users = (): AsyncIterable<EventSubject> => affectedResources(name, { ...this.#ports, inventory });
      this.#report({ subject: selectorSubject(selector), note, users });
    }
  }

  /** Reports that STS rejected the role of the identity. Never rejects. */
  async identityRefused(refused: RefusedRole, error: UpstreamSTSError): Promise<void> {
    const { identity } = refused;
    const { source: { inventory } } = this.#ports;
    const fix = "fix" in refused
      ? refused.fix
      : identityTrustPolicyFix(refused.identity, await refused.caller().catch(() => null));
    const note = noteOf({ roleARN: identity.roleARN ?? "", object: describeIdentity(identity), error, fix });
    const users = (): AsyncIterable<EventSubject> => affectedClusters(identity, { ...this.#ports, inventory });
    this.#report({ subject: identitySubject(identity, inventory), note, users });
  }

  #report({ subject, note, users }: Refusal): void {
    this.#record(subject, note);
    const key = JSON.stringify([subject.kind, subject.namespace, subject.name]);
    if (this.#ports.clock.steady() - (this.#searchedMs.get(key) ?? -Infinity) < SEARCH_MS) return;
    this.#searchedMs.set(key, this.#ports.clock.steady());
    const { kind, name } = subject;
    this.#searching = this.#searching.then(() => this.#recordUsers(users, note)).catch((err: unknown) => (
      this.#ports.log.warn({ err, kind, name }, "users of a rejected role cannot be searched")
    ));
  }

  async #recordUsers(users: Refusal["users"], note: string): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    for await (const user of users()) this.#record(user, note);
  }

  #record(subject: EventSubject, note: string): void {
    this.#events.record(subject, { type: "Warning", reason: "RoleRefused", action: "AssumeRole", note });
  }
}

interface Refusal {
  readonly subject: EventSubject;
  readonly note: string;
  /** Returns the objects that use the role. */
  readonly users: () => AsyncIterable<EventSubject>;
}

interface NoteParts {
  readonly roleARN: string;
  /** The selector or identity that contains the role. */
  readonly object: string;
  readonly error: UpstreamSTSError;
  readonly fix: string;
}

function noteOf({ roleARN, object, error, fix }: NoteParts): string {
  return `The role ${roleARN} of ${object} cannot be assumed: ${sentence(error.message)} `
    + sentence(`${fix.charAt(0).toUpperCase()}${fix.slice(1)}`);
}

function sentence(message: string): string {
  return message === "" || /[.!?]$/.test(message) ? message : `${message}.`;
}
