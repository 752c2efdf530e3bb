import { test } from "tap";
import { exampleOf } from "../../../cli/example-objects.ts";
import { objectExcess } from "../../../shared/core/limits.ts";
import { objectReference } from "../../../shared/formats/object-meta.ts";
import { CATALOGUE, judgeOf, runChecks } from "../../../shared/judges.ts";
import type { CheckInput } from "../../../shared/core/check.ts";
import {
  type AccessByName, decisionSettings, type DecisionSettings, type Operation, type Requester,
} from "../../../shared/core/context.ts";
import { field, isJsonObject, parseJSON, stringAt } from "../../../shared/formats/json.ts";
import { readSettings } from "../../../shared/server/read-settings.ts";
import { inventory as randomInventory, type RandomInventory } from "../../corpus/generate/inventories.ts";
import { review } from "../../corpus/generate/reviews.ts";
import { type FailedRepair, failedRepairs, REPAIRED } from "../core/repaired.ts";
import { roleIdentity } from "../capa-objects.ts";
import { checkChange } from "../core/findings.ts";
import { CLUSTER_OBJECTS } from "../ack/resource-lines.ts";
import { lines as podLines } from "../injection/pod-lines.ts";
import { inventoryWith } from "../objects.ts";
import { callerOf, reviewOf } from "../trust/review.ts";
import { allow, APP, ROLE } from "../trust/trust-cases.ts";
import { CASES, PODS } from "./rare-cases.ts";
import { ONLY_A_PERSON_KNOWS } from "./only-a-person-knows.ts";

// Applies every repair of every check: to the examples of the checks, to the changes of 200 random inventories, most of
// which are reviews of the corpus too, and to the stored objects of these inventories.

const INVENTORIES = 200;
/** Those with cases of useless repairs, which no other inventory has. */
const RARE = [50_023, 50_175, 50_192];
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
  const [operation, oldObject] = [field(request, "operation"), field(request, "oldObject")];
  const object = operation === "DELETE" ? oldObject : field(request, "object");
  const requester = requesterIn(field(request, "userInfo"));
  if (!isChange(operation) || !isJsonObject(object) || requester === null) return null;
  const old = operation === "UPDATE" && isJsonObject(oldObject) ? oldObject : null;
  // What a stored object that exceeds the limits says is not read.
  return old !== null && objectExcess(old) !== null ? null : { object, old, operation, requester };
}

function requesterIn(user: unknown): Requester | null {
  const [username, groups = []] = [stringAt(user, "username"), field(user, "groups")];
  if (username === null || !Array.isArray(groups)) return null;
  return { username, groups: groups.filter((group: unknown) => typeof group === "string") };
}

function isChange(operation: unknown): operation is Operation {
  return operation === "CREATE" || operation === "UPDATE" || operation === "DELETE";
}

/** Returns the access of a requester who may use nothing, which only a few settings ask for. */
function nothingAllowed(input: CheckInput, settings: DecisionSettings): AccessByName {
  const { inventory = null } = input;
  const uses = judgeOf(objectReference(input.object))?.review?.uses;
  const used = inventory === null || uses === undefined ? [] : uses.of(input, settings, inventory);
  return new Map(used.map(([name]) => [name, "denied"]));
}

test("each repair of a change in random inventories corrects it", (t) => {
  const failed = new Map<string, FailedRepair>();
  for (const number of [...Array.from({ length: INVENTORIES }, (_, i) => i), ...RARE]) {
    const state = randomInventory(number);
    const settings = settingsIn(state);
    const known = state.objects;
    const cluster = inventoryWith(known, { runtime: settings.runtime });
    const tryAll = (change: Omit<CheckInput, "origin" | "inventory">): void => {
      const plain: CheckInput = { ...change, origin: "cluster", inventory: cluster };
      const input = { ...plain, access: nothingAllowed(plain, settings) };
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
  // A correct name can reveal what the webhook denies, such as a conflict. Then the repair is not offered.
  t.same([...failed.values()].filter(({ problem }) => problem === "ineffective"), []);
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
    const failed = [...failedRepairs({ input, settings, known: [] }, runChecks(input, settings))];
    t.same(failed.filter(({ problem }) => problem === "ineffective"), [], id);
  }
  t.end();
});

test("the repairs of rare cases correct them", (t) => {
  for (const [code, object, circumstances] of CASES) {
    const { findings } = checkChange(object, { known: CLUSTER_OBJECTS, ...circumstances });
    t.ok(findings.some((one) => one.code === code && one.repairs !== undefined), code);
  }
  for (const [code, pod] of PODS) t.ok(podLines(pod).some((line) => line.startsWith(code)), code);
  const settings = { ...settingsIn({ environment: {} }) };
  const identity = roleIdentity("clusters", null, {}, { roleARN: ROLE, durationSeconds: 7200 });
  const input: CheckInput = {
    object: identity, old: null, requester: null, origin: "file", inventory: inventoryWith([identity]),
    trust: reviewOf({ trust: [allow({ AWS: APP })], callers: [callerOf(), callerOf({ via: "capa" })] }),
  };
  t.same([...failedRepairs({ input, settings, known: [identity] }, runChecks(input, settings))], []);
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
