import { test } from "tap";
import { SelectorIndex } from "../../../../shared/decisions/inventory/selector-index.ts";
import { SetIndex } from "../../../../shared/decisions/inventory/set-index.ts";
import { decodeSelector } from "../../../../shared/decisions/selectors/decode.ts";
import type { EffectiveSelector } from "../../../../shared/decisions/selectors/effective.ts";
import { ROLE, selectorObject } from "../objects.ts";

function selectorOf(name: string, spec: object): EffectiveSelector {
  const { effective: selector } = decodeSelector(selectorObject(name, { arn: ROLE, ...spec }), { runtime: "extended", origin: "file" });
  if (selector === null) throw new Error(`${name} is malformed`);
  return selector;
}

const byLabel = (name: string, matchLabels: object): EffectiveSelector => selectorOf(name, { namespaceSelector: { labelSelector: { matchLabels } } });

test("a set index holds each value once, and keeps nothing of a key that lost its last", (t) => {
  const index = new SetIndex<string>();
  index.add("k", "a");
  index.add("k", "a");
  index.add("k", "b");
  index.delete("k", "c");
  index.delete("other", "a");
  t.same([...index.get("k")], ["a", "b"]);
  index.delete("k", "a");
  index.delete("k", "b");
  t.same([...index.get("k"), ...index.get("other")], []);
  t.equal(index.get("k"), index.get("other"), "both are the one empty set");
  t.end();
});

test("a selector that names its groups is found by each, one that leaves a group open by all of them, once", (t) => {
  const index = new SelectorIndex();
  const two = selectorOf("two", { resourceTypeSelector: [{ group: "a" }, { group: "b" }] });
  const open = selectorOf("open", { resourceTypeSelector: [{ group: "a" }, { kind: "K" }] });
  const any = selectorOf("any", {});
  for (const selector of [two, open, any]) index.add(selector);
  const found = (group: string): string[] => index.everywhere(group).flatMap((set) => [...set]).map(({ name }) => name).toSorted();
  t.same([found("a"), found("b"), found("c")], [["any", "open", "two"], ["any", "open", "two"], ["any", "open"]]);
  for (const selector of [two, open, any]) index.delete(selector);
  t.same(found("a"), []);
  t.end();
});

test("the answer for a known namespace is kept, and the very same until a change that could touch it", (t) => {
  const index = new SelectorIndex();
  const labels = new Map([["team", "x"]]);
  index.addNamespace("n", labels);
  const selector = byLabel("a", { team: "x" });
  index.add(selector);
  const first = index.inNamespace("n", labels, true);
  t.same(first, [selector]);
  index.add(byLabel("other", { team: "y" }));
  index.add(selectorOf("named", { namespaceSelector: { names: ["m"] } }));
  t.equal(index.inNamespace("n", labels, true), first, "others' changes leave it");
  index.delete(byLabel("never-added", { team: "x" }));
  t.equal(index.inNamespace("n", labels, true), first, "so does the removal of one that is not there");
  index.delete(selector);
  t.same(index.inNamespace("n", labels, true), []);
  t.not(index.inNamespace("unknown", labels, false), index.inNamespace("unknown", labels, false), "that of an unknown one is not kept");
  t.end();
});

test("of its labels a selector is found by any, whichever came first", (t) => {
  const index = new SelectorIndex();
  const all = ["x", "y", "z"].map((team) => byLabel(team, { env: "prod", team }));
  for (const selector of all) index.add(selector);
  const find = (team: string): string[] => index.inNamespace(team, new Map([["env", "prod"], ["team", team]]), false).map(({ name }) => name);
  t.same(["x", "y", "z", "other"].map(find), [["x"], ["y"], ["z"], []]);
  for (const selector of all.slice(0, 2)) index.delete(selector);
  t.same(["x", "y", "z"].map(find), [[], [], ["z"]]);
  t.end();
});
