import { test } from "tap";
import { IRS_40 } from "../../../../../shared/checks/selector-account.ts";
import { runChecks } from "../../../../../shared/checks/run.ts";
import { decisionSettings } from "../../../../../shared/contract/context.ts";
import { Inventory } from "../../../../../shared/inventory/inventory.ts";
import type { JsonObject } from "../../../../../shared/formats/json.ts";
import { decodeSelector } from "../../../../../shared/model/selector.ts";
import { readSettings } from "../../../../../shared/server/read-settings.ts";
import { bucketObject } from "../../objects.ts";
import { FIRST, selectorFor } from "../account-fixtures.ts";

const SETTINGS = decisionSettings(readSettings("lint", { from: ["m"] }, {}));
const CONTEXT = { origin: "cluster", runtime: "ack" } as const;

interface Pending {
  readonly stored?: readonly JsonObject[];
  readonly written: readonly JsonObject[];
}

/**
 * Returns `MESSAGE. FIX` for each finding of the check in a new selector, while changes of other selectors are pending.
 */
function findings(id: string, object: JsonObject, { stored = [], written }: Pending): string[] {
  const inventory = new Inventory(CONTEXT);
  inventory.apply([bucketObject(), ...stored].map((one) => ({ type: "put", object: one })));
  const effective = written.map((one) => decodeSelector(one, CONTEXT).effective).filter((one) => one !== null);
  const pending = { deletions: new Set<string>(), writes: new Map(effective.map((one) => [one.name, one])) };
  const input = { object, old: null, requester: null, origin: "cluster", inventory, pending } as const;
  const found = runChecks(input, SETTINGS).findings.filter(({ code }) => code === id);
  return found.map(({ message, fix }) => `${message}. ${fix}`);
}

const NEW = selectorFor("new", FIRST, ["team-a"]);
const A = selectorFor("a", FIRST, ["team-a"]);
const B = selectorFor("b", FIRST, ["team-a"]);
const ELSEWHERE = selectorFor("a", FIRST, ["team-b"]);
const EFFECT = "1 resource would be selected by more than one IAMRoleSelector, and controllers do not reconcile such a "
  + "resource: Bucket team-a/b1";
const RESTRICT = "restrict new or a so that only one of them selects each resource. If new is to replace a: annotate "
  + "new with ack-role-resolver.io/replaces: a, apply new, then delete a";

test("IRS-17 compares a selector with selectors that are being created or changed", (t) => {
  t.same(findings("IRS-17", NEW, { written: [A] }), [
    `${EFFECT} (also selected by a). ${RESTRICT}`,
  ]);
  t.match(findings("IRS-17", NEW, { written: [A, B] }), [/also selected by a and b/]);
  t.same(findings("IRS-17", NEW, { written: [ELSEWHERE] }), []);
  t.same(findings("IRS-17", NEW, { stored: [A], written: [ELSEWHERE] }), [], "a is being narrowed");
  t.same(findings("IRS-17", NEW, { written: [NEW] }), [], "the selector does not conflict with itself");
  t.end();
});

test("IRS-40 compares the session of a selector with selectors that are being created or changed", (t) => {
  const shared = (name: string, id: string): JsonObject => ({
    ...selectorFor(name, FIRST, [name], { annotations: { "ack-role-resolver.io/external-id": id } }),
    spec: { arn: `arn:aws:iam::${FIRST}:role/shared`, namespaceSelector: { names: [name] } },
  });
  t.same(findings("IRS-40", shared("new", "id-1"), { written: [shared("a", "id-2")] }), [
    `the selector has the same role as a, but a different external-id. ${IRS_40.fix}`,
  ]);
  t.same(findings("IRS-40", shared("new", "id-1"), { written: [shared("a", "id-1"), A] }), []);
  t.same(findings("IRS-40", shared("new", "id-1"), { stored: [shared("a", "id-2")], written: [ELSEWHERE] }), []);
  t.end();
});
