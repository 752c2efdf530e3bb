import { runChecksPaced } from "../../shared/judges.ts";

// Objects within the limits that would block the event loop until the API server's timeout. After the timeout, the
// failurePolicy would admit these objects without the checks.
import { type Test, test } from "tap";
import type { CheckResult } from "../../shared/core/run.ts";
import type { JsonObject } from "../../shared/formats/json.ts";
import { readIdentity } from "../../shared/capa/identity.ts";
import { parseARN } from "../../shared/formats/arn.ts";
import type { Paced } from "../../shared/formats/paced.ts";
import { roleIdentity } from "../shared/capa-objects.ts";
import { SETTINGS_BY_DEFAULT } from "../shared/objects.ts";
import { COMPANY, FakeSource } from "../webhook/webhook-under-test.ts";

const LABELS = 1_000;
const { inventory } = new FakeSource(COMPANY);

function checks(object: JsonObject, old: JsonObject): Paced<CheckResult> {
  return runChecksPaced({ object, old, requester: null, inventory, origin: "cluster" }, SETTINGS_BY_DEFAULT);
}

/**
 * Runs the call and returns its work: the total length of the results of `JSON.stringify` and `split`, and of the keys
 * that the call sets in maps.
 */
function work(t: Test, call: () => void): number {
  const texts = t.capture(JSON, "stringify", JSON.stringify);
  const { value: split } = Object.getOwnPropertyDescriptors(String.prototype).split;
  const parts = t.capture(String.prototype, "split", split);
  const { value: set } = Object.getOwnPropertyDescriptors(Map.prototype).set;
  const keys = t.capture(Map.prototype, "set", set);
  call();
  for (const { restore } of [texts, parts, keys]) restore();
  const returned: unknown[] = [...texts(), ...parts()].map((one) => ("returned" in one ? one.returned : ""));
  return [...returned, ...keys().map(({ args: [key] }): unknown => key)].reduce<number>((sum, value) => (
    sum + (typeof value === "string" || Array.isArray(value) ? value.length : 0)
  ), 0);
}

/** Returns an identity whose selector has `count` labels that are not valid. */
function identity(count: number, key = "not valid"): JsonObject {
  const matchLabels = Object.fromEntries(Array.from({ length: count }, (_, i) => [`${key} ${i}`, "a b"]));
  return roleIdentity("workload", "role/hub", { selector: { matchLabels } });
}

test("pauses while it finds and compares the faults of one object", (t) => {
  const pauses = (count: number): number => [...checks(identity(count, "new"), identity(count, "old"))].length;
  const [none, many] = [pauses(0), pauses(LABELS)];
  // Each label has two faults, which are found in both objects and then compared.
  t.ok(many >= none + 4 * 2 * LABELS / 200, `${many} pauses for many faults, ${none} for none`);
  t.end();
});

test("the decoder of an identity creates the message of only one fault", (t) => {
  const object = identity(100);
  const decoding = work(t, () => readIdentity(object, "ack"));
  t.ok(decoding < 20 * 100, `${decoding} characters for labels with less than 15 characters`);
  t.end();
});

test("the work to parse an ARN does not depend on the number of colons", async (t) => {
  const text = `arn:aws:iam::111122223333:${":".repeat(100_000)}`;
  t.ok(work(t, () => t.equal(parseARN(text)?.resource.length, 100_000)) < 100);
});
