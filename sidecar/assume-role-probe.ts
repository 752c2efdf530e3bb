import { ResolverError } from "../shared/decisions/errors.ts";
import type { Grant, RoleGrant } from "../shared/decisions/grants/grant.ts";
import type { EffectiveSelector } from "../shared/decisions/selectors/effective.ts";
import type { Clock } from "../shared/inventory/clock.ts";
import type { InventorySource } from "../shared/inventory/source.ts";
import type { Logger } from "../shared/server/logger.ts";
import type { SidecarMetrics } from "./metrics.ts";
import { UpstreamSTSError } from "./sts-upstream/errors.ts";

export interface RoleCheckPorts {
  readonly source: Pick<InventorySource, "status" | "onChange"> & { readonly inventory: { readonly selectors: ReadonlyMap<string, EffectiveSelector> } };
  /** What a selector grants to this sidecar's controller. */
  readonly grantOf: (selector: string) => Grant;
  /** Has a session for the role, kept or new, behind all that somebody waits for. Rejects as STS refuses. */
  readonly assume: (grant: RoleGrant) => Promise<unknown>;
  /** The ARN of the base identity, once it is known. */
  readonly identity: () => string | null;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly log: Pick<Logger, "info" | "warn">;
  readonly metrics: Pick<SidecarMetrics, "roleChecked">;
}

/** Between two trials, more or less by half: a start with 500 selectors takes 8 minutes and a tenth of what STS is asked for anyway. */
const PAUSE_MS = 1_000;
/** After a trial that STS could not be asked for. */
const TROUBLE_MS = 30_000;
/** When a role that was refused is tried again: somebody may have mended it. */
const AGAIN_MS = 10 * 60_000;
/** Sessions of trials are kept with those in use and must not take their place, so half of the cache is theirs at most. */
const LIMIT = 500;

interface Seen {
  /** What it was last seen as: another object once it has changed. */
  selector: EffectiveSelector;
  /** The role and what is asked with it; null where nothing is granted on it. */
  readonly wanted: string | null;
  failing: boolean;
}

/**
 * IRS-27: tries to assume each role that a selector grants here, once for each role and extras, one after another in its own time, and
 * warns of those that STS refuses, a line a change. Nothing waits for it and nothing is refused for it.
 */
export class AssumeRoleProbe {
  readonly #ports: RoleCheckPorts;
  readonly #seen = new Map<string, Seen>();
  /** Names, in the order of their trials. */
  readonly #due = new Set<string>();
  readonly #cancels = new Set<() => void>();
  #isWaiting = false;
  #saidTooMany = false;
  #closed = false;
  #unlisten: () => void = () => {};

  constructor(ports: RoleCheckPorts) {
    this.#ports = ports;
  }

  start(): void {
    this.#unlisten = this.#ports.source.onChange(() => this.#look());
    this.#look();
  }

  close(): void {
    this.#closed = true;
    this.#unlisten();
    for (const cancel of this.#cancels) cancel();
  }

  /** Selectors whose role was refused when it was last tried. */
  get failing(): number {
    return [...this.#seen.values()].filter((seen) => seen.failing).length;
  }

  #look(): void {
    const { source } = this.#ports;
    if (!source.status.loaded) return;
    const { selectors } = source.inventory;
    for (const name of this.#seen.keys()) if (!selectors.has(name)) this.#forget(name);
    for (const [name, selector] of selectors) this.#see(name, selector);
    this.#wait(PAUSE_MS);
  }

  #forget(name: string): void {
    this.#seen.delete(name);
    this.#due.delete(name);
  }

  #see(name: string, selector: EffectiveSelector): void {
    const seen = this.#seen.get(name);
    if (seen?.selector === selector) return;
    if (seen === undefined && this.#seen.size >= LIMIT) return this.#sayTooMany();
    const wanted = wantedOf(this.#ports.grantOf(name));
    if (seen !== undefined && seen.wanted === wanted) {
      seen.selector = selector;
      return;
    }
    // Another object, so that what comes of a trial under way is not taken for the new role's.
    this.#seen.set(name, { selector, wanted, failing: false });
    if (wanted !== null) this.#due.add(name);
  }

  #sayTooMany(): void {
    if (this.#saidTooMany) return;
    this.#saidTooMany = true;
    this.#ports.log.warn({ check: "IRS-27", limit: LIMIT }, "IRS-27: there are more selectors than roles are tried for; those over the limit are not");
  }

  #wait(ms: number): void {
    if (this.#isWaiting || this.#due.size === 0) return;
    this.#isWaiting = true;
    this.#after(ms * (0.5 + this.#ports.random()), () => void this.#tryNext());
  }

  #after(ms: number, run: () => void): void {
    if (this.#closed) return;
    const cancel = this.#ports.clock.schedule(ms, () => {
      this.#cancels.delete(cancel);
      run();
    });
    this.#cancels.add(cancel);
  }

  async #tryNext(): Promise<void> {
    const [name] = this.#due;
    const grant = name === undefined ? null : this.#ports.grantOf(name);
    let pauseMs = PAUSE_MS;
    if (name !== undefined) this.#due.delete(name);
    if (name !== undefined && grant?.verdict === "role") pauseMs = await this.#try(name, grant);
    this.#isWaiting = false;
    this.#wait(pauseMs);
  }

  /** The pause before the next. */
  async #try(name: string, grant: RoleGrant): Promise<number> {
    const seen = this.#seen.get(name);
    try {
      await this.#ports.assume(grant);
      this.#ports.metrics.roleChecked("ok");
      this.#tell(seen, { name, grant, refusal: null });
      return PAUSE_MS;
    } catch (error) {
      if (error instanceof UpstreamSTSError) {
        this.#ports.metrics.roleChecked("refused");
        this.#tell(seen, { name, grant, refusal: error });
        this.#after(AGAIN_MS, () => this.#again(name));
        return PAUSE_MS;
      }
      this.#ports.metrics.roleChecked("skipped");
      // Refused here, such as an account that is not allowed: there is nothing to ask STS.
      const isTrouble = error instanceof ResolverError && error.status === 503;
      if (isTrouble) this.#again(name);
      return isTrouble ? TROUBLE_MS : PAUSE_MS;
    }
  }

  #again(name: string): void {
    if (!this.#seen.has(name)) return;
    this.#due.add(name);
    this.#wait(PAUSE_MS);
  }

  #tell(seen: Seen | undefined, { name, grant, refusal }: Outcome): void {
    if (seen === undefined || seen.failing === (refusal !== null)) return;
    seen.failing = refusal !== null;
    const about = { check: "IRS-27", selector: name, role_arn: grant.roleARN };
    if (refusal === null) return this.#ports.log.info(about, "IRS-27: the selector's role can be assumed again");
    const fix = fixOf(grant, this.#ports.identity());
    this.#ports.log.warn({ ...about, sts_code: refusal.stsCode, reason: refusal.message, fix }, "IRS-27: the selector's role cannot be assumed");
  }
}

function wantedOf(grant: Grant): string | null {
  return grant.verdict === "role" ? JSON.stringify([grant.roleARN, grant.extras]) : null;
}

interface Outcome {
  readonly name: string;
  readonly grant: RoleGrant;
  readonly refusal: UpstreamSTSError | null;
}

/** What the role's trust policy must say. The external ID itself is not repeated. */
function fixOf({ roleARN, extras }: RoleGrant, identity: string | null): string {
  const { externalID, sourceIdentity, tags } = extras;
  const actions = ["sts:AssumeRole", ...(tags.length > 0 ? ["sts:TagSession"] : []), ...(sourceIdentity !== null ? ["sts:SetSourceIdentity"] : [])];
  const condition = externalID === null ? "" : ", where sts:ExternalId is the selector's";
  return `Have the trust policy of ${roleARN} allow ${actions.join(", ")} to ${identity ?? "the sidecar's own identity"}${condition}; or correct spec.arn of the selector.`;
}
