import { array, assert, property, string, tuple } from "fast-check";
import { test } from "tap";
import {
  addDenials, type AddedDenials, CONFIRM_MS, dataOfObserved, observedDenial, observedIn, type ObservedDenial,
  OBSERVED_MS, recentDenials,
} from "../../../shared/server/observed-denials.ts";

const NOW = Date.parse("2026-11-29T12:00:00Z");
const NONE: AddedDenials = { denials: [], omitted: new Map() };
const EMPTY = { sinceMs: NOW, untilMs: NOW, ...NONE };
const denialOf = (name: string, more: Partial<ObservedDenial> = {}): ObservedDenial => observedDenial({
  code: "IRS-03", user: "alice", operation: "CREATE", kind: "IAMRoleSelector", namespace: "", name, message: "no ARN",
  lastMs: NOW, ...more,
});
const omittedAs = (code: string, count: number, lastMs = NOW): AddedDenials => (
  { denials: [], omitted: new Map([[code, { count, lastMs }]]) }
);
const counts = ({ denials }: { readonly denials: readonly ObservedDenial[] }): string[] => (
  denials.map(({ name, count }) => `${name} ${count}`)
);

test("counts what is denied for the same reason, the most recent first", (t) => {
  const first = addDenials(EMPTY, { denials: [denialOf("a"), denialOf("b"), denialOf("a")], omitted: new Map() }, NOW);
  t.same(counts(first), ["a 2", "b 1"]);
  const later = { ...denialOf("b", { message: "still no ARN" }), lastMs: NOW + 1 };
  const second = addDenials(first, { ...omittedAs("IRS-04", 3), denials: [later] }, NOW + 1);
  t.same(counts(second), ["b 2", "a 2"]);
  t.equal(second.denials[0]?.message, "still no ARN");
  const older = addDenials(second, { ...omittedAs("IRS-04", 1), denials: [denialOf("b")] }, NOW + 1);
  t.match(older.denials[0], { name: "b", count: 3, message: "still no ARN" });
  t.same([...older.omitted], [["IRS-04", { count: 4, lastMs: NOW }]]);
  t.end();
});

test("forgets what is older than 7 days, and what there is no room for except its number", (t) => {
  const old = addDenials(EMPTY, { denials: [denialOf("a")], omitted: new Map() }, NOW);
  t.match(recentDenials(old, NOW + OBSERVED_MS), { sinceMs: NOW, untilMs: NOW, denials: [] });
  const many = Array.from({ length: 203 }, (_, i) => ({ ...denialOf(`s${i}`), lastMs: NOW + i, count: 2 }));
  const full = addDenials(EMPTY, { denials: many, omitted: new Map() }, NOW + 300);
  t.equal(full.denials.length, 200);
  t.equal(full.denials[0]?.name, "s202");
  t.same([...full.omitted], [["IRS-03", { count: 6, lastMs: NOW + 2 }]]);
  t.same([...recentDenials(full, NOW + OBSERVED_MS + 1).omitted], [["IRS-03", { count: 6, lastMs: NOW + 2 }]]);
  t.same([...recentDenials(full, NOW + OBSERVED_MS + 2).omitted], [], "their number too");
  t.end();
});

test("knows since when it counts without a gap", (t) => {
  const hourly = addDenials(addDenials(EMPTY, NONE, NOW + CONFIRM_MS), NONE, NOW + 4 * CONFIRM_MS);
  t.match(hourly, { sinceMs: NOW, untilMs: NOW + 4 * CONFIRM_MS });
  const later = NOW + 8 * CONFIRM_MS;
  t.match(addDenials(hourly, NONE, later), { sinceMs: later, untilMs: later }, "nobody counted for more than 3 hours");
  t.end();
});

test("reads what it has written, whatever names attackers choose, and a ConfigMap has room for it", (t) => {
  const text = string({ unit: "binary", maxLength: 4_000 });
  assert(property(array(tuple(text, text, text), { maxLength: 4 }), (names) => {
    const denials = names.map(([user, name, message]) => denialOf(name, { user, message }));
    const observed = addDenials(EMPTY, { ...omittedAs("IRS-03", 1), denials }, NOW);
    const data = dataOfObserved(observed);
    t.same(observedIn({ data }), observed);
  }), { numRuns: 300 });
  const worst = Array.from({ length: 200 }, (_, i) => {
    const long = `${i}${"\u0001\"".repeat(2_000)}`;
    return denialOf(long, { user: long, message: long, namespace: long, kind: long, operation: long, code: long });
  });
  const data = dataOfObserved(addDenials(EMPTY, { denials: worst, omitted: new Map() }, NOW));
  t.ok(Buffer.byteLength(JSON.stringify(data)) < 1024 * 1024, `${Buffer.byteLength(JSON.stringify(data))}`);
  t.end();
});

test("omits what it cannot read", (t) => {
  t.equal(observedIn({}), null);
  t.equal(observedIn({ data: { since: "yesterday" } }), null);
  const since = "2026-11-29T12:00:00.000Z";
  const bad = ["{", "[]", '{"code":"A","count":-1}', '{"code":"A","count":1,"last":"x"}', '{"count":1}', ""];
  const times = { since, until: since };
  t.equal(observedIn({ data: { since } }), null);
  t.same(observedIn({ data: { ...times, denials: bad.join("\n"), omitted: "[]" } }), EMPTY);
  t.same(observedIn({ data: times }), EMPTY);
  const text = `{"IRS-03":{"count":2,"last":"${since}"},"IRS-04":"x","IRS-05":{"count":0.5,"last":"${since}"}}`;
  const { omitted = [] } = observedIn({ data: { ...times, omitted: text } }) ?? {};
  t.same([...omitted], [["IRS-03", { count: 2, lastMs: NOW }]]);
  const [one] = observedIn({ data: { ...times, denials: `{"code":"A","count":1,"last":"${since}"}` } })?.denials ?? [];
  t.match(one, { code: "A", count: 1, lastMs: NOW, user: "", name: "" });
  t.end();
});
