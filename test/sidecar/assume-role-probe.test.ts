import { test } from "tap";
import { ResolverError } from "../../shared/decisions/errors.ts";
import type { Grant, RoleGrant } from "../../shared/decisions/grants/grant.ts";
import { Inventory } from "../../shared/decisions/inventory/inventory.ts";
import type { JsonObject } from "../../shared/decisions/kubernetes/json.ts";
import { NO_EXTRAS } from "../../shared/decisions/selectors/session.ts";
import { createLogger } from "../../shared/server/logger.ts";
import { AssumeRoleProbe } from "../../sidecar/assume-role-probe.ts";
import { UpstreamSTSError } from "../../sidecar/sts-upstream/errors.ts";
import { put, removal, selectorObject } from "../shared/decisions/objects.ts";
import { FakeClock } from "./fake-clock.ts";

const MINUTE = 60_000;
const DENIED = new UpstreamSTSError("STS answered AssumeRole with AccessDenied: no", { stsCode: "AccessDenied", stsStatus: 403 });
const EXTRAS = { ...NO_EXTRAS, externalID: "planted-external-id", sourceIdentity: "me", tags: [{ key: "team", value: "a" }] };

const arnOf = (name: string): string => `arn:aws:iam::111111111111:role/${name}`;
const selector = (name: string, role = name): JsonObject => selectorObject(name, { arn: arnOf(role), namespaceSelector: { names: ["team-a"] } });

class Subject {
  readonly clock = new FakeClock();
  readonly inventory = new Inventory({ runtime: "ack", origin: "file" });
  readonly tried: string[] = [];
  readonly counted: string[] = [];
  readonly lines: Record<string, unknown>[] = [];
  readonly faults = new Map<string, Error>();
  readonly ungranted = new Set<string>();
  readonly check: AssumeRoleProbe;
  #onChange = (): void => {};

  constructor(names: readonly string[]) {
    this.inventory.apply(names.map((name) => put(selector(name))));
    const log = createLogger({ name: "sidecar", level: "trace", destination: { write: (line) => void this.lines.push(JSON.parse(line)) } });
    const onChange = (listener: () => void): (() => void) => {
      this.#onChange = listener;
      return () => void (this.#onChange = () => {});
    };
    this.check = new AssumeRoleProbe({
      source: { inventory: this.inventory, status: { loaded: true, lastSyncMs: 0, fault: null }, onChange }, clock: this.clock, random: () => 0.5, log,
      grantOf: (name) => this.#grantOf(name), assume: (grant) => this.#assume(grant), identity: () => "arn:aws:iam::999999999999:role/ack",
      metrics: { roleChecked: (result) => void this.counted.push(result) },
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

  #grantOf(name: string): Grant {
    const found = this.inventory.selectors.get(name);
    if (found === undefined || this.ungranted.has(name)) return { verdict: "refused", code: "ERR_SELECTOR_UNKNOWN", message: "", selectors: [] };
    return { verdict: "role", roleARN: found.roleARN, selectors: [name], extras: EXTRAS, grantedBy: found };
  }

  async #assume({ roleARN, selectors: [name = ""] }: RoleGrant): Promise<void> {
    this.tried.push(`${name} ${roleARN.split("/").at(-1)}`);
    const fault = this.faults.get(name);
    if (fault !== undefined) throw fault;
  }
}

test("each granted role is tried once, one after another, and again only when role or extras have changed", async (t) => {
  const subject = new Subject(["a", "b", "c"]);
  subject.ungranted.add("c");
  subject.check.start();
  t.same(subject.tried, [], "nothing waits for it");
  await subject.clock.advance(1_000);
  t.same(subject.tried, ["a a"]);
  await subject.clock.advance(MINUTE);
  t.same(subject.tried, ["a a", "b b"]);
  subject.change(selectorObject("a", { arn: arnOf("a"), namespaceSelector: { names: ["other"] } }), selector("b", "b2"));
  await subject.clock.advance(MINUTE);
  t.same(subject.tried, ["a a", "b b", "b b2"]);
  t.same(subject.counted, ["ok", "ok", "ok"]);
  t.same(subject.lines, []);
  t.equal(subject.check.failing, 0);
  t.equal(subject.clock.scheduled, 0, "and then there is nothing to do");
  subject.check.close();
});

test("a role that STS refuses is warned of once, with the fix, tried again each 10 minutes, and told when it is mended", async (t) => {
  const subject = new Subject(["a"]);
  subject.faults.set("a", DENIED);
  subject.check.start();
  await subject.clock.advance(35 * MINUTE);
  t.equal(subject.tried.length, 4);
  t.equal(subject.check.failing, 1);
  t.match(subject.lines, [{
    level: "warn", check: "IRS-27", msg: /^IRS-27: /, selector: "a", role_arn: arnOf("a"), sts_code: "AccessDenied", reason: DENIED.message,
    fix: `Have the trust policy of ${arnOf("a")} allow sts:AssumeRole, sts:TagSession, sts:SetSourceIdentity to arn:aws:iam::999999999999:role/ack, `
      + "where sts:ExternalId is the selector's; or correct spec.arn of the selector.",
  }]);
  t.notMatch(JSON.stringify(subject.lines), /planted/);
  subject.faults.clear();
  await subject.clock.advance(10 * MINUTE);
  t.equal(subject.check.failing, 0);
  t.match(subject.lines.slice(1), [{ level: "info", selector: "a" }]);
  t.equal(subject.lines.length, 2);
  subject.check.close();
});

test("a changed role is judged anew, and one that is gone not at all", async (t) => {
  const subject = new Subject(["a", "b"]);
  subject.faults.set("a", DENIED);
  subject.faults.set("b", DENIED);
  subject.check.start();
  await subject.clock.advance(MINUTE);
  t.equal(subject.check.failing, 2);
  subject.change(selector("a", "another"));
  t.equal(subject.check.failing, 1, "not known of the new role yet");
  await subject.clock.advance(MINUTE);
  t.equal(subject.check.failing, 2);
  t.equal(subject.lines.length, 3);
  const { length } = subject.tried;
  subject.remove("a");
  subject.remove("b");
  t.equal(subject.check.failing, 0);
  await subject.clock.advance(30 * MINUTE);
  t.equal(subject.tried.length, length);
  subject.check.close();
  t.equal(subject.clock.scheduled, 0);
});

test("where STS cannot be asked the role is tried later, and a refusal of our own is left alone", async (t) => {
  const subject = new Subject(["a", "b"]);
  subject.faults.set("a", new ResolverError("ERR_STS_UNAVAILABLE", "down"));
  subject.faults.set("b", new ResolverError("ERR_SELECTOR_NOT_GRANTED", "not an allowed account"));
  subject.check.start();
  await subject.clock.advance(3 * MINUTE);
  t.equal(subject.tried.filter((one) => one === "b b").length, 1);
  const trials = subject.tried.filter((one) => one === "a a").length;
  t.ok(trials >= 3 && trials <= 7, `${trials} trials in 3 minutes`);
  t.same([...new Set(subject.counted)], ["skipped"]);
  t.same(subject.lines, []);
  subject.faults.clear();
  await subject.clock.advance(MINUTE);
  t.equal(subject.counted.at(-1), "ok");
  subject.check.close();
});

test("of ever so many selectors 500 are tried, and that is said once", async (t) => {
  const subject = new Subject(Array.from({ length: 600 }, (_, i) => `s${i}`));
  subject.check.start();
  subject.change(selector("s1", "other"));
  await subject.clock.advance(20 * MINUTE);
  t.equal(new Set(subject.tried.map((one) => one.split(" ")[0])).size, 500);
  t.match(subject.lines, [{ level: "warn", check: "IRS-27", limit: 500 }]);
  t.equal(subject.lines.length, 1);
  subject.check.close();
});
