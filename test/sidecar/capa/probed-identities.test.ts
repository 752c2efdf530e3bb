import { IDENTITIES } from "../../../shared/capa/identities.ts";
import { Registry } from "prom-client";
import { test } from "tap";
import { ResolverError } from "../../../shared/formats/errors.ts";
import type { IdentityGrant } from "../../../shared/capa/grant-by-identity.ts";
import type { RoleIdentity } from "../../../shared/capa/identity.ts";
import type { RefusedToken } from "../../../shared/refusals/refused-call.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { compareText } from "../../../shared/formats/text.ts";
import { isCurrentIdentity } from "../../../sidecar/capa/identity-sessions.ts";
import { AssumeRoleProbe } from "../../../sidecar/probe/assume-role-probe.ts";
import { RefusedIdentities, RefusedRoleError } from "../../../sidecar/capa/refused-identities.ts";
import { createSidecarMetrics } from "../../../sidecar/metrics.ts";
import { probedIdentities } from "../../../sidecar/capa/probed-identities.ts";
import { UpstreamSTSError } from "../../../sidecar/sts-upstream/errors.ts";
import { controllerIdentity, roleIdentity } from "../../shared/capa-objects.ts";
import { inventoryWith, namespaceObject, put, SETTINGS_BY_DEFAULT } from "../../shared/objects.ts";
import { FakeClock } from "../fake-clock.ts";
import { RecordedLog } from "../recorded-log.ts";

const MINUTE = 60_000;
const REFUSED_CALL: RefusedToken = {
  action: "AssumeRoleWithWebIdentity", roleARN: "", issuer: "", audiences: [], subject: "",
};
const DENIED = new UpstreamSTSError("STS returned AccessDenied", { stsCode: "AccessDenied", stsStatus: 403 });

/** A probe of identities. STS is called for each role of a chain, as if no session were cached. */
class Subject {
  readonly clock = new FakeClock();
  readonly inventory;
  readonly registry = new Registry();
  readonly #recorded = new RecordedLog();
  readonly lines = this.#recorded.lines;
  /** The names of the identities whose role was requested from STS. */
  readonly called: string[] = [];
  readonly rejected = new Set<string>();
  /** The error for each probe; null if STS is called. */
  fault: Error | null = null;
  readonly refused: RefusedIdentities;
  readonly probe: AssumeRoleProbe;
  #onChange = (): void => {};

  constructor(objects: readonly JsonObject[]) {
    this.inventory = inventoryWith([namespaceObject("team-a"), controllerIdentity(), ...objects]);
    const { inventory, clock } = this;
    const identities = inventory.of(IDENTITIES);
    this.refused = new RefusedIdentities({ clock, isCurrent: (one) => isCurrentIdentity(identities, one) });
    this.probe = new AssumeRoleProbe({
      source: {
        status: { loaded: true, lastSyncMs: 0, fault: null },
        onChange: (listener) => { this.#onChange = listener; return () => {}; },
      },
      probed: [probedIdentities({
        inventory, query: { scope: null, settings: SETTINGS_BY_DEFAULT },
        assume: async (grant) => this.#assume(grant), isRefused: (one) => this.refused.has(one),
      })],
      clock, random: () => 0.5, log: this.#recorded.log, metrics: createSidecarMetrics(this.registry),
    });
    this.probe.start();
  }

  change(...objects: readonly JsonObject[]): void {
    this.inventory.apply(objects.map(put));
    this.#onChange();
  }

  async results(): Promise<Record<string, number>> {
    const metric = await this.registry.getSingleMetric("ack_role_resolver_sidecar_role_checks_total")?.get();
    return Object.fromEntries((metric?.values ?? []).map(({ labels, value }) => [String(labels["result"]), value]));
  }

  #assume({ roles }: IdentityGrant): void {
    if (this.fault !== null) throw this.fault;
    for (const role of roles) this.#assumeOne(role);
  }

  #assumeOne(role: RoleIdentity): void {
    this.called.push(role.name);
    if (!this.rejected.has(role.name)) return this.refused.remove(role);
    this.refused.add(role);
    throw new RefusedRoleError(role, REFUSED_CALL, DENIED);
  }
}

test("calls STS only for the refused source while 200 identities are chained on it, and then for each", async (t) => {
  const over = Array.from({ length: 200 }, (_, i) => roleIdentity(`over-${i}`, "role/source"));
  const subject = new Subject([...over.slice(0, 100), roleIdentity("source"), ...over.slice(100)]);
  subject.rejected.add("source");
  await subject.clock.advance(60 * MINUTE);
  t.same([...new Set(subject.called)], ["source"]);
  t.ok(subject.called.length <= 8, `${subject.called.length} calls in an hour`);
  t.match(subject.lines, [{ level: "warn", check: "CI-35", identity: "source", sts_code: "AccessDenied" }]);
  t.equal(subject.lines.length, 1, "no line names an identity that is chained on the source");
  t.equal(subject.refused.size, 1);
  t.equal(subject.probe.failing("IRS-27"), 0, "which counts selectors");

  subject.rejected.clear();
  await subject.clock.advance(25 * MINUTE);
  t.equal(new Set(subject.called).size, 201, "all roles are probed after the source has recovered");
  t.match(subject.lines.slice(1), [{ level: "info", check: "CI-35", identity: "source" }]);
  t.equal(subject.refused.size, 0);
  const { length } = subject.called;
  await subject.clock.advance(60 * MINUTE);
  t.equal(subject.called.length, length, "no role is probed again");
  subject.probe.close();
});

test("reports an identity whose own role is refused, and probes it again if its chain changes", async (t) => {
  const subject = new Subject([roleIdentity("source"), roleIdentity("own", "role/source")]);
  subject.rejected.add("own");
  await subject.clock.advance(MINUTE);
  t.same(subject.called, ["source", "source", "own"]);
  t.match(subject.lines, [{ identity: "own" }]);
  subject.rejected.clear();
  subject.change(roleIdentity("source", "controller", {}, { sessionName: "new" }));
  await subject.clock.advance(MINUTE);
  t.same(subject.called.slice(3).toSorted(compareText), ["own", "source", "source"]);
  t.same(await subject.results(), { ok: 3, refused: 1 });
  await subject.clock.advance(30 * MINUTE);
  t.equal(subject.called.length, 6, "the retry of the earlier probe is canceled, because the chain has changed");
  subject.probe.close();
});

test("probes no identity that no namespace may use, until a namespace may use it", async (t) => {
  const subject = new Subject([
    roleIdentity("future", "controller", { list: ["team-b"] }), roleIdentity("loop", "role/loop"),
    roleIdentity("lost", "role/missing"), roleIdentity("invalid", "controller", {}, { sessionName: "bad name!" }),
  ]);
  await subject.clock.advance(9 * MINUTE);
  t.same(subject.called, []);
  t.same(await subject.results(), { skipped: 2 }, "an incomplete chain is not probed at all");
  subject.change(namespaceObject("team-b"));
  await subject.clock.advance(12 * MINUTE);
  t.same(subject.called, ["future"]);
  subject.probe.close();
});

test("waits while STS is unavailable, and for a Secret without an access key", async (t) => {
  const subject = new Subject([roleIdentity("r")]);
  subject.fault = new ResolverError("ERR_STS_UNAVAILABLE", "STS circuit open");
  await subject.clock.advance(5 * MINUTE);
  const { skipped = 0 } = await subject.results();
  t.ok(skipped >= 5 && skipped <= 12, `${skipped} probes in 5 minutes`);
  subject.fault = new ResolverError("ERR_IDENTITY_SECRET", "no access key");
  await subject.clock.advance(9 * MINUTE);
  t.equal((await subject.results())["skipped"], skipped + 1);
  subject.fault = null;
  await subject.clock.advance(10 * MINUTE);
  t.match(await subject.results(), { ok: 1 });
  t.same(subject.lines, []);
  subject.probe.close();
});
