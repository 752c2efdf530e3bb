import { test } from "tap";
import { runChecks } from "../../../shared/decisions/checks/run.ts";
import { Inventory } from "../../../shared/decisions/inventory/inventory.ts";
import type { JsonObject } from "../../../shared/decisions/kubernetes/json.ts";
import type { EffectiveSelector } from "../../../shared/decisions/selectors/effective.ts";
import { runChecksWithPending } from "../../../webhook/pending/review.ts";
import { selectorWrites } from "../../../webhook/pending/selectors.ts";
import { PendingWrites } from "../../../webhook/pending/writes.ts";
import { FIRST, selectorFor } from "../../shared/decisions/checks/account-fixtures.ts";
import { bucketObject, put, SETTINGS_BY_DEFAULT } from "../../shared/decisions/objects.ts";
import { FakeClock } from "../../sidecar/fake-clock.ts";
import { objectAt } from "../reviews.ts";

const OTHER = selectorFor("other", FIRST, ["team-a"]);
const TEAM_A = { ...OTHER, metadata: { ...objectAt(OTHER, "metadata"), name: "team-a", resourceVersion: "9" } };

class Setup {
  readonly inventory = new Inventory({ runtime: "ack", origin: "cluster" });
  readonly clock = new FakeClock();
  readonly pendingWrites = new PendingWrites<EffectiveSelector>({
    source: { inventory: this.inventory }, kind: selectorWrites("ack"), clock: this.clock,
    monotonicMs: () => this.clock.steady(), fetchObject: async () => "absent", isVerified: true,
  });
  runs = 0;

  constructor() {
    this.inventory.apply([put(bucketObject())]);
  }

  /** The watch delivers an admitted selector. */
  deliver(object: JsonObject): void {
    this.inventory.apply([put(object)]);
  }

  /** Reviews the creation of the selector `other`. `duringRun` runs after each run of the checks. */
  async isAllowed(duringRun: (run: number) => void): Promise<boolean> {
    const { pendingWrites, inventory, clock } = this;
    const { denied } = await runChecksWithPending({
      pendingWrites, change: null,
      time: { monotonicMs: () => clock.steady(), remainingMs: () => 10_000 },
      related: (writes) => writes,
      runChecks: async (pending) => {
        const input = { object: OTHER, old: null, requester: null, origin: "cluster", inventory, pending } as const;
        const result = runChecks(input, SETTINGS_BY_DEFAULT);
        this.runs += 1;
        duringRun(this.runs);
        return result;
      },
    });
    return !denied;
  }
}

test("denies an overlap with a selector that is admitted and delivered while the checks run", async (t) => {
  const setup = new Setup();
  t.equal(await setup.isAllowed((run) => {
    if (run > 1) return;
    setup.pendingWrites.add({ name: "team-a", isDeletion: false, value: null });
    setup.deliver(TEAM_A);
  }), false);
});

test("denies an overlap with a pending selector that is delivered while the checks run", async (t) => {
  const setup = new Setup();
  setup.pendingWrites.add({ name: "team-a", isDeletion: false, value: null });
  t.equal(await setup.isAllowed((run) => {
    if (run === 1) setup.deliver(TEAM_A);
  }), false);
});

test("runs the checks once if no write is pending, and a limited number of times if writes never end", async (t) => {
  const setup = new Setup();
  t.equal(await setup.isAllowed(() => {}), true);
  t.equal(setup.runs, 1);
  const endless = new Setup();
  await endless.isAllowed((run) => endless.pendingWrites.add({ name: `new-${run}`, isDeletion: false, value: null }));
  t.ok(endless.runs <= 11, `${endless.runs} runs`);
});
