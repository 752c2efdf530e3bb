import { INVENTORY_KINDS } from "../../../shared/kinds.ts";
import { SELECTORS } from "../../../shared/ack/selectors.ts";
import { Registry } from "prom-client";
import { test } from "tap";
import { ResolverError } from "../../../shared/formats/errors.ts";
import type { Grant, RoleGrant } from "../../../shared/core/grant.ts";
import { Inventory } from "../../../shared/core/inventory.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { NO_EXTRAS } from "../../../shared/core/session.ts";
import { SELECTOR_OWNER } from "../../../shared/core/grant-session.ts";
import { AssumeRoleProbe } from "../../../sidecar/probe/assume-role-probe.ts";
import { createSidecarMetrics } from "../../../sidecar/metrics.ts";
import { probedSelectors } from "../../../sidecar/probe/probed-roles.ts";
import { UpstreamSTSError } from "../../../sidecar/sts-upstream/errors.ts";
import { put, removal, selectorObject } from "../../shared/objects.ts";
import { FakeClock } from "../fake-clock.ts";
import { RecordedLog } from "../recorded-log.ts";

const MINUTE = 60_000;
const DENIED = new UpstreamSTSError("STS returned AccessDenied for AssumeRole: no", {
  stsCode: "AccessDenied",
  stsStatus: 403,
});
const EXTRAS = {
  ...NO_EXTRAS,
  externalID: "planted-external-id",
  sourceIdentity: "me",
  tags: [{ key: "team", value: "a" }],
};

const arnOf = (name: string): string => `arn:aws:iam::111111111111:role/${name}`;
const selector = (name: string, role = name): JsonObject =>
  selectorObject(name, { arn: arnOf(role), namespaceSelector: { names: ["team-a"] } });

class Subject {
  readonly clock = new FakeClock();
  readonly inventory = new Inventory({ runtime: "ack", origin: "file" }, INVENTORY_KINDS);
  readonly probed: string[] = [];
  /** How often all selectors were read. */
  reads = 0;
  readonly registry = new Registry();
  readonly #recorded = new RecordedLog();
  readonly lines = this.#recorded.lines;
  readonly faults = new Map<string, Error>();
  readonly ungranted = new Set<string>();
  readonly probe: AssumeRoleProbe;
  #onChange = (): void => {};

  constructor(names: readonly string[]) {
    this.inventory.apply(names.map((name) => put(selector(name))));
    const onChange = (listener: () => void): (() => void) => {
      this.#onChange = listener;
      return () => void (this.#onChange = () => {});
    };
    this.probe = new AssumeRoleProbe({
      source: { status: { loaded: true, lastSyncMs: 0, fault: null }, onChange },
      clock: this.clock,
      random: () => 0.5,
      log: this.#recorded.log,
      probed: [probedSelectors({
        selectors: () => {
          this.reads += 1;
          return this.inventory.of(SELECTORS).values();
        },
        grantOf: (name) => this.#grantOf(name),
        assume: (grant) => this.#assume(grant),
      })],
      metrics: createSidecarMetrics(this.registry),
    });
  }

  change(...objects: readonly JsonObject[]): void {
    this.inventory.apply(objects.map(put));
    this.#onChange();
  }

  remove(name: string): void {
    this.inventory.apply([removal("services.k8s.aws", "IAMRoleSelector", name)]);
    this.#onChange();
  }

  /** Returns the number of probes by result. */
  async results(): Promise<Record<string, number>> {
    const metric = await this.registry.getSingleMetric("ack_role_resolver_sidecar_role_checks_total")?.get();
    return Object.fromEntries((metric?.values ?? []).map(({ labels, value }) => [String(labels["result"]), value]));
  }

  #grantOf(name: string): Grant {
    const found = this.inventory.of(SELECTORS).get(name);
    if (found === undefined || this.ungranted.has(name))
      return { verdict: "denied", code: "ERR_SELECTOR_UNKNOWN", message: "", selectors: [] };
    const { roleARN } = found;
    return { verdict: "role", roleARN, selectors: [name], extras: EXTRAS, owner: SELECTOR_OWNER, grantedBy: found };
  }

  async #assume({ roleARN, selectors: [name = ""] }: RoleGrant): Promise<void> {
    this.probed.push(`${name} ${roleARN.split("/").at(-1)}`);
    const fault = this.faults.get(name);
    if (fault !== undefined) throw fault;
  }
}

test("probes each granted role once, and again if the role or its session settings change", async (t) => {
  const subject = new Subject(["a", "b", "c"]);
  subject.ungranted.add("c");
  subject.probe.start();
  t.same(subject.probed, [], "start() does not wait for a probe");
  await subject.clock.advance(50);
  t.same(subject.probed, ["a a"]);
  await subject.clock.advance(MINUTE);
  t.same(subject.probed, ["a a", "b b"]);
  subject.change(
    selectorObject("a", { arn: arnOf("a"), namespaceSelector: { names: ["other"] } }),
    selector("b", "b2"),
  );
  await subject.clock.advance(MINUTE);
  t.same(subject.probed, ["a a", "b b", "b b2"]);
  subject.ungranted.delete("c");
  subject.change();
  await subject.clock.advance(MINUTE);
  t.equal(subject.probed.at(-1), "c c", "its namespace exists now");
  t.same(await subject.results(), { ok: 4 });
  t.same(subject.lines, []);
  t.equal(subject.probe.failing("IRS-27"), 0);
  subject.probe.close();
});

test("logs a rejected role once, probes the role every 10 min, and logs when STS accepts the role", async (t) => {
  const subject = new Subject(["a"]);
  subject.faults.set("a", DENIED);
  subject.probe.start();
  await subject.clock.advance(35 * MINUTE);
  t.equal(subject.probed.length, 4);
  t.equal(subject.probe.failing("IRS-27"), 1);
  t.match(subject.lines, [
    {
      level: "warn",
      check: "IRS-27",
      msg: /^IRS-27: /,
      selector: "a",
      role_arn: arnOf("a"),
      sts_code: "AccessDenied",
      reason: DENIED.message,
    },
  ]);
  t.notMatch(JSON.stringify(subject.lines), /planted/);
  subject.faults.clear();
  await subject.clock.advance(10 * MINUTE);
  t.equal(subject.probe.failing("IRS-27"), 0);
  t.match(subject.lines.slice(1), [{ level: "info", selector: "a" }]);
  t.equal(subject.lines.length, 2);
  subject.probe.close();
});

test("probes the new role of a changed selector, and stops probing the role of a removed selector", async (t) => {
  const subject = new Subject(["a", "b"]);
  subject.faults.set("a", DENIED);
  subject.faults.set("b", DENIED);
  subject.probe.start();
  await subject.clock.advance(MINUTE);
  t.equal(subject.probe.failing("IRS-27"), 2);
  subject.change(selector("a", "another"));
  await subject.clock.advance(150);
  t.equal(subject.probe.failing("IRS-27"), 1, "the new role is not probed yet");
  await subject.clock.advance(MINUTE);
  t.equal(subject.probe.failing("IRS-27"), 2);
  t.equal(subject.lines.length, 3);
  const { length } = subject.probed;
  subject.remove("a");
  subject.remove("b");
  await subject.clock.advance(1_000);
  t.equal(subject.probe.failing("IRS-27"), 0);
  await subject.clock.advance(30 * MINUTE);
  t.equal(subject.probed.length, length);
  subject.probe.close();
  await subject.clock.advance(0);
  t.equal(subject.clock.scheduled, 0);
});

test("reads all selectors at most once a second, however often the inventory changes", async (t) => {
  const subject = new Subject(["a"]);
  subject.probe.start();
  for (let i = 0; i < 100; i++) {
    subject.change(selector("a", `role-${i}`));
    await subject.clock.advance(50);
  }
  t.ok(subject.reads <= 6, `${subject.reads} reads in 5 s`);
  await subject.clock.advance(MINUTE);
  t.equal(subject.probed.at(-1), "a role-99");
  subject.probe.close();
  await subject.clock.advance(0);
  t.equal(subject.clock.scheduled, 0);
});

test("probes a role again if STS is unavailable, but not if the sidecar denies the role", async (t) => {
  const subject = new Subject(["a", "b"]);
  subject.faults.set("a", new ResolverError("ERR_STS_UNAVAILABLE", "down"));
  subject.faults.set("b", new ResolverError("ERR_SELECTOR_NOT_GRANTED", "not an allowed account"));
  subject.probe.start();
  await subject.clock.advance(3 * MINUTE);
  t.equal(subject.probed.filter((probed) => probed === "b b").length, 1);
  const probes = subject.probed.filter((probed) => probed === "a a").length;
  t.ok(probes >= 3 && probes <= 7, `${probes} probes in 3 minutes`);
  t.same(Object.keys(await subject.results()), ["skipped"]);
  t.same(subject.lines, []);
  subject.faults.clear();
  await subject.clock.advance(MINUTE);
  t.equal((await subject.results())["ok"], 1);
  subject.probe.close();
});

test("probes the roles of the first 500 selectors only, and logs the limit once", async (t) => {
  const subject = new Subject(Array.from({ length: 600 }, (_, i) => `s${i}`));
  subject.probe.start();
  subject.change(selector("s1", "other"));
  await subject.clock.advance(20 * MINUTE);
  t.equal(new Set(subject.probed.map((one) => one.split(" ")[0])).size, 500);
  t.match(subject.lines, [{ level: "warn", check: "IRS-27", limit: 500 }]);
  t.equal(subject.lines.length, 1);
  subject.probe.close();
});
