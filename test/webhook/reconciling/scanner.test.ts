import { INVENTORY_KINDS } from "../../../shared/kinds.ts";
import { SELECTORS } from "../../../shared/ack/selectors.ts";
import { test } from "tap";
import { Inventory } from "../../../shared/core/inventory.ts";
import { scanResources } from "../../../shared/diagnosis/stale-resources.ts";
import { TurnQueue } from "../../../shared/sources/slices.ts";
import { Scanner } from "../../../webhook/reconciling/scanner.ts";
import { bucketObject, namespaceObject, put, ROLE, selectorObject, SETTINGS_BY_DEFAULT } from "../../shared/objects.ts";

const SELECTOR = selectorObject("team-a", { arn: ROLE, namespaceSelector: { names: ["team-a"] } });

/** Records the time of each pause. */
class RecordingTurns extends TurnQueue {
  readonly pausedMs: number[] = [];
  readonly #now: () => number;

  constructor(now: () => number) {
    super();
    this.#now = now;
  }

  override async pause(pauses: number, remainingMs: () => number): Promise<void> {
    this.pausedMs.push(this.#now());
    await super.pause(pauses, remainingMs);
  }
}

/** Returns a scanner whose clock advances by `stepMs` each time that it is read. */
function scannerOf(stepMs: number): {
  readonly scanner: Scanner; readonly inventory: Inventory; readonly turns: RecordingTurns;
  readonly scan: (visit: () => boolean) => Promise<boolean>;
  readonly advance: (ms: number) => void;
} {
  const inventory = new Inventory({ runtime: "ack", origin: "cluster" }, INVENTORY_KINDS);
  inventory.apply([namespaceObject("team-a"), SELECTOR].map(put));
  let nowMs = 0;
  const steady = (): number => (nowMs += stepMs);
  const turns = new RecordingTurns(() => nowMs);
  const scope = { inventory, settings: SETTINGS_BY_DEFAULT };
  const scanner = new Scanner({ clock: { steady }, revision: () => inventory.of(SELECTORS).revision, turns });
  const scan = (visit: () => boolean): Promise<boolean> => scanner.scan(scanResources(scope, visit));
  return { scanner, scan, inventory, turns, advance: (ms) => void (nowMs += ms) };
}

test("a scan of 10,000 resources lets the event loop continue at least every 10 ms", async (t) => {
  const { scan, inventory, turns } = scannerOf(0.25);
  inventory.apply(Array.from({ length: 10_000 }, (_, i) => put(bucketObject({ name: `b${i}` }))));
  let visited = 0;
  t.equal(await scan(() => ++visited > 0), true);
  t.equal(visited, 10_000);
  t.ok(turns.pausedMs.length >= 50, `${turns.pausedMs.length} pauses`);
  const slices = turns.pausedMs.map((pausedMs, i) => pausedMs - (turns.pausedMs[i - 1] ?? 0));
  t.same(slices.filter((ms) => ms > 10), []);
});

test("a scan is due 1 s after a selector, 5 s after another object, and 1 minute without a change", async (t) => {
  const { scanner, scan, inventory, advance } = scannerOf(0);
  const isDueAfter = async (ms: number, change: () => void): Promise<readonly [boolean, boolean]> => {
    await scan(() => true);
    change();
    advance(ms - 1);
    const before = scanner.isDue;
    advance(1);
    return [before, scanner.isDue];
  };
  t.equal(scanner.isDue, true, "at the start");
  t.same(await isDueAfter(60_000, () => undefined), [false, true]);
  t.same(await isDueAfter(5_000, () => scanner.changed()), [false, true]);
  t.same(await isDueAfter(1_000, () => {
    inventory.apply([put(SELECTOR)]);
    scanner.changed();
  }), [false, true]);
  await scan(() => true);
  scanner.reset();
  t.equal(scanner.isDue, true, "after a reset");
});

test("a scan that takes long is repeated later, so that scans use little CPU time", async (t) => {
  const { scanner, scan, inventory, advance } = scannerOf(0);
  const resources = [put(bucketObject({ name: "a" }))];
  inventory.apply(resources);
  const slow = (): boolean => {
    advance(2_000);
    return true;
  };
  await scan(slow);
  scanner.changed();
  advance(39_999);
  t.equal(scanner.isDue, false);
  advance(1);
  t.equal(scanner.isDue, true, "20 times the duration after a change of a resource");
  await scan(slow);
  inventory.apply([put(SELECTOR)]);
  scanner.changed();
  advance(7_999);
  t.equal(scanner.isDue, false);
  advance(1);
  t.equal(scanner.isDue, true, "4 times the duration after a change of a selector");
  t.equal(await scan(() => false), false, "a stopped scan is not complete");
});
