import { runChecks } from "../../../shared/judges.ts";
import { test } from "tap";
import type { JsonObject } from "../../../shared/formats/json.ts";
import type { EffectiveSelector } from "../../../shared/core/effective-selector.ts";
import { pendingSelectors } from "../../../shared/ack/pending-selectors.ts";
import { inProcess, PendingList } from "../../../webhook/pending/list.ts";
import { runChecksWithPending } from "../../../webhook/pending/run-with-pending.ts";
import { PendingWrites } from "../../../webhook/pending/writes.ts";
import { bucketObject, FIRST, selectorFor, SETTINGS_BY_DEFAULT } from "../../shared/objects.ts";
import { FakeClock } from "../../sidecar/fake-clock.ts";
import { objectAt } from "../reviews.ts";
import { FakeSource } from "../webhook-under-test.ts";

const OTHER = selectorFor("other", FIRST, ["team-a"]);
const TEAM_A = { ...OTHER, metadata: { ...objectAt(OTHER, "metadata"), name: "team-a", resourceVersion: "9" } };

class Setup {
  readonly source = new FakeSource([bucketObject()]);
  readonly clock = new FakeClock();
  readonly #kind = pendingSelectors("ack");
  readonly pendingWrites = new PendingWrites<EffectiveSelector>({
    store: inProcess(new PendingList({
      source: this.source, kinds: [this.#kind], clock: this.clock,
    })),
    kind: this.#kind, clock: this.clock, fetchObject: async () => "absent",
  });
  runs = 0;

  async admit(object: JsonObject): Promise<void> {
    await this.pendingWrites.add({ object, old: null, isDeletion: false }, () => true, () => 1_000);
  }

  /** Reviews the creation of the selector `other`. `duringRun` runs after each run of the checks. */
  async isAllowed(duringRun: (run: number) => void | Promise<void>): Promise<boolean> {
    const { pendingWrites, source: { inventory } } = this;
    const { denied } = await runChecksWithPending({
      pendingWrites, change: { object: OTHER, old: null, isDeletion: false }, isDryRun: false,
      remainingMs: () => 10_000, update: async () => false,
      related: (writes) => writes.filter(({ name }) => name !== "other"),
      run: async (pending) => {
        const input = { object: OTHER, old: null, requester: null, origin: "cluster", inventory, pending } as const;
        const result = runChecks(input, SETTINGS_BY_DEFAULT);
        this.runs += 1;
        await duringRun(this.runs);
        return result;
      },
    });
    return !denied;
  }
}

test("denies an overlap with a selector that is admitted while the checks run", async (t) => {
  const setup = new Setup();
  t.equal(await setup.isAllowed(async (run) => (run > 1 ? undefined : await setup.admit(TEAM_A))), false);
});

test("denies an overlap with a selector that is admitted and delivered while the checks run", async (t) => {
  const setup = new Setup();
  t.equal(await setup.isAllowed(async (run) => {
    if (run > 1) return;
    await setup.admit(TEAM_A);
    setup.source.put(TEAM_A);
  }), false);
});

test("denies an overlap with a pending selector that is delivered while the checks run", async (t) => {
  const setup = new Setup();
  await setup.admit(TEAM_A);
  t.equal(await setup.isAllowed((run) => (run === 1 ? setup.source.put(TEAM_A) : undefined)), false);
});

test("runs the checks once if no write is pending", async (t) => {
  const setup = new Setup();
  t.equal(await setup.isAllowed(() => {}), true);
  t.equal(setup.runs, 1);
  t.same(setup.pendingWrites.all().map(({ name }) => name), ["other"]);
});

test("does not share a change without an effect, such as a label or an apply of the stored object", async (t) => {
  const { pendingWrites } = new Setup();
  const labelled = { ...OTHER, metadata: { ...objectAt(OTHER, "metadata"), labels: { team: "a" } } };
  const add = async (object: JsonObject, old: JsonObject | null, isCurrent = true): Promise<unknown> => (
    pendingWrites.add({ object, old, isDeletion: false }, () => isCurrent, () => 1_000)
  );
  t.equal(await add(labelled, OTHER), "added");
  t.equal(await add(OTHER, OTHER, false), "outdated");
  t.same(pendingWrites.all(), []);
  t.equal(await add(selectorFor("other", FIRST, ["team-b"]), OTHER), "added");
  t.equal(pendingWrites.all().length, 1);
  t.equal(await add(OTHER, null), "added");
  t.equal(pendingWrites.all().length, 2, "a new object has an effect");
});

test("denies a change if other changes arrive in each of five rounds", async (t) => {
  const setup = new Setup();
  const elsewhere = (run: number): JsonObject => selectorFor(`new-${run}`, FIRST, ["team-b"]);
  const message = "The change cannot be compared with those that are pending: other changes that can conflict with it "
    + "keep arriving. Apply it again in 1 s.";
  await t.rejects(setup.isAllowed((run) => setup.admit(elsewhere(run))), { code: "ERR_PENDING_WRITES", message });
  t.notOk(setup.pendingWrites.all().some(({ name }) => name === "other"));
});
