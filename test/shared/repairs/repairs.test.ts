import { test } from "tap";
import { CATALOGUE, runChecks } from "../../../shared/judges.ts";
import type { CheckInput } from "../../../shared/core/check.ts";
import { decisionSettings, type DecisionSettings, type Operation } from "../../../shared/core/context.ts";
import { field, isJsonObject, parseJSON, stringAt } from "../../../shared/formats/json.ts";
import { readSettings } from "../../../shared/server/read-settings.ts";
import { inventory, type RandomInventory } from "../../corpus/generate/inventories.ts";
import { review } from "../../corpus/generate/reviews.ts";
import { type FailedRepair, failedRepairs, REPAIRED } from "../core/repaired.ts";
import { inventoryWith } from "../objects.ts";
import { exampleOf } from "./examples.ts";
import { ONLY_A_PERSON_KNOWS } from "./only-a-person-knows.ts";

// Applies every repair of every check: to the examples of the checks, to the changes of 200 random inventories, most of
// which are reviews of the corpus too, and to the stored objects of these inventories.

const INVENTORIES = 200;
const REVIEWS_OF_EACH = 40;
/** A longer request exceeds a limit of the webhook. */
const MAX_LENGTH = 100_000;

function settingsIn({ environment }: Pick<RandomInventory, "environment">): DecisionSettings {
  return decisionSettings(readSettings("webhook", { cluster: true, tlsDir: "unused" }, environment));
}

type Change = Pick<CheckInput, "object" | "old" | "operation" | "requester">;

/** Returns the change in the body of an AdmissionReview; null if the webhook rejects the body. */
function changeIn(body: string): Change | null {
  const request = body.length > MAX_LENGTH ? undefined : field(parseJSON(body), "request");
  const [operation, user, old] = ["operation", "userInfo", "oldObject"].map((key) => field(request, key));
  const object = operation === "DELETE" ? old : field(request, "object");
  const [username, groups = []] = [stringAt(user, "username"), field(user, "groups")];
  if (!isChange(operation) || !isJsonObject(object) || username === null || !Array.isArray(groups)) return null;
  const requester = { username, groups: groups.filter((group: unknown) => typeof group === "string") };
  return { object, old: operation === "UPDATE" && isJsonObject(old) ? old : null, operation, requester };
}

function isChange(operation: unknown): operation is Operation {
  return operation === "CREATE" || operation === "UPDATE" || operation === "DELETE";
}

/** A correct name can reveal what the webhook denies, such as a conflict. Then the repair is not offered. */
const REVEALS: ReadonlySet<string> = new Set([]);

test("each repair of a change in random inventories corrects it, and nothing new is denied", (t) => {
  const failed = new Map<string, FailedRepair>();
  for (let number = 0; number < INVENTORIES; number++) {
    const state = inventory(number);
    const settings = settingsIn(state);
    const known = state.objects;
    const cluster = inventoryWith(known, { runtime: settings.runtime });
    const tryAll = (change: Omit<CheckInput, "origin" | "inventory">): void => {
      const input: CheckInput = { ...change, origin: "cluster", inventory: cluster };
      for (const one of failedRepairs({ input, settings, known }, runChecks(input, settings))) {
        failed.set(`${one.code} ${one.problem}`, one);
      }
    };
    for (let i = 0; i < REVIEWS_OF_EACH; i++) {
      const change = changeIn(review(state, i).body);
      if (change !== null) tryAll(change);
    }
    for (const object of known) tryAll({ object, old: object, operation: "AUDIT", requester: null });
  }
  const unexpected = [...failed.values()].filter(({ code, problem }) => problem !== "denied" || !REVEALS.has(code));
  t.same(unexpected, []);
  t.comment(`${[...REPAIRED.values()].reduce((sum, count) => sum + count, 0)} repairs were applied`);
  t.end();
});

test("each repair of an example of a check corrects it", (t) => {
  const settings = settingsIn({ environment: {} });
  for (const { id, example } of CATALOGUE) {
    const object = exampleOf(id, example);
    if (object === null) continue;
    const input: CheckInput = {
      object, old: null, requester: null, origin: "file", inventory: inventoryWith([], { origin: "file" }),
    };
    t.same([...failedRepairs({ input, settings, known: [] }, runChecks(input, settings))], [], id);
  }
  t.end();
});

test("each check that denies has a repair, unless only a person can know what is meant", (t) => {
  for (const { id, severity, inAudit } of CATALOGUE) {
    const denies = severity !== "warn" || inAudit?.severity === "deny";
    if (!denies) continue;
    const applied = REPAIRED.get(id) ?? 0;
    const reason = ONLY_A_PERSON_KNOWS.get(id);
    if (reason === undefined) t.ok(applied > 0, `${id}: ${applied} repairs were applied`);
    else t.equal(applied, 0, `${id}: ${reason}`);
  }
  t.end();
});
