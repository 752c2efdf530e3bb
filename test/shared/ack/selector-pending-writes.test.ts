import { judgeSelector } from "../../../shared/ack/judge-selector.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { bucketObject, FIRST, selectorFor } from "../objects.ts";
import { linesOf } from "../core/findings.ts";
import { testRows } from "../rows.ts";

type Input = readonly [
  id: string, object: JsonObject, written: readonly JsonObject[], stored?: readonly JsonObject[],
];

/** Returns the lines of the check for a new selector, while changes of other selectors are pending. */
function lines([id, object, written, stored = []]: Input): string[] {
  const context = { origin: "cluster", runtime: "ack" } as const;
  const effective = written.map((one) => judgeSelector(one, context).effective).filter((one) => one !== null);
  const pending = { deletions: new Set<string>(), writes: new Map(effective.map((one) => [one.name, one])) };
  return linesOf(id, object, { known: [bucketObject(), ...stored], pending });
}

const NEW = selectorFor("new", FIRST, ["team-a"]);
const A = selectorFor("a", FIRST, ["team-a"]);
const B = selectorFor("b", FIRST, ["team-a"]);
const ELSEWHERE = selectorFor("a", FIRST, ["team-b"]);
const shared = (name: string, id: string): JsonObject => ({
  ...selectorFor(name, FIRST, [name], { annotations: { "ack-role-resolver.io/external-id": id } }),
  spec: { arn: `arn:aws:iam::${FIRST}:role/shared`, namespaceSelector: { names: [name] } },
});
const SHARED = shared("new", "id-1");

testRows("IRS-17 and IRS-40 compare a selector with selectors that are being created or changed", lines, [
  ["a is being created", ["IRS-17", NEW, [A]], /1 resource would be .*: Bucket team-a\/b1 \(also selected by a\)/],
  ["two are being created", ["IRS-17", NEW, [A, B]], /also selected by a and b/],
  ["it selects something else", ["IRS-17", NEW, [ELSEWHERE]]],
  ["a is being narrowed", ["IRS-17", NEW, [ELSEWHERE], [A]]],
  ["no conflict with itself", ["IRS-17", NEW, [NEW]]],
  ["another session", ["IRS-40", SHARED, [shared("a", "id-2")]], /same role as a, but a different external-id/],
  ["the same session", ["IRS-40", SHARED, [shared("a", "id-1"), A]]],
  ["the role is being changed", ["IRS-40", SHARED, [ELSEWHERE], [shared("a", "id-2")]]],
]);
