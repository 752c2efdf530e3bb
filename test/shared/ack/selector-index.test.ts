import { test } from "tap";
import { judgeSelector } from "../../../shared/ack/judge-selector.ts";
import { NamespaceStore } from "../../../shared/core/namespaces.ts";
import { SelectorIndex, SelectorList } from "../../../shared/ack/selector-index.ts";
import { SetIndex } from "../../../shared/core/set-index.ts";
import type { EffectiveSelector } from "../../../shared/core/effective-selector.ts";
import { namespaceObject, ROLE, selectorObject } from "../objects.ts";

const CONTEXT = { runtime: "extended", origin: "file" } as const;

function selectorOf(name: string, spec: object): EffectiveSelector {
  const { effective } = judgeSelector(selectorObject(name, { arn: ROLE, ...spec }), CONTEXT);
  if (effective === null) throw new Error(`${name} is malformed`);
  return effective;
}

const byLabel = (name: string, matchLabels: object): EffectiveSelector => (
  selectorOf(name, { namespaceSelector: { labelSelector: { matchLabels } } })
);

test("stores each value once, and removes a key after its last value is removed", (t) => {
  const index = new SetIndex<string>();
  index.add("k", "a");
  index.add("k", "a");
  index.add("k", "b");
  index.delete("k", "c");
  index.delete("other", "a");
  t.same([...index.get("k")], ["a", "b"]);
  index.add("one", "a");
  t.same([...index.sets()].map((set) => [...set]), [["a", "b"], ["a"]]);
  t.same(["k", "one", "other"].map((key) => index.count(key)), [2, 1, 0]);
  index.delete("one", "b");
  t.same([...index.get("one")], ["a"], "the deletion of another value changes nothing");
  index.delete("k", "a");
  index.delete("k", "b");
  t.same([...index.get("k"), ...index.get("other")], []);
  t.equal(index.get("k"), index.get("other"), "missing keys share one empty set");
  t.end();
});

test("finds a selector by each group that it names, and by every group if an entry has no group", (t) => {
  const index = new SelectorIndex(new NamespaceStore());
  const two = selectorOf("two", { resourceTypeSelector: [{ group: "a" }, { group: "b" }] });
  const open = selectorOf("open", { resourceTypeSelector: [{ group: "a" }, { kind: "K" }] });
  const any = selectorOf("any", {});
  for (const selector of [two, open, any]) index.add(selector);
  const found = (group: string): string[] => (
    index.clusterWide(group).flatMap((set) => [...set]).map(({ name }) => name).toSorted()
  );
  t.same([found("a"), found("b"), found("c")], [["any", "open", "two"], ["any", "open", "two"], ["any", "open"]]);
  for (const selector of [two, open, any]) index.delete(selector);
  t.same(found("a"), []);
  t.end();
});

test("caches the selectors of a stored namespace until a change affects those selectors", (t) => {
  const namespaces = new NamespaceStore();
  const index = new SelectorIndex(namespaces);
  const labels = new Map([["team", "x"]]);
  namespaces.put(namespaceObject("n", { team: "x" }), { name: "n" });
  const selector = byLabel("a", { team: "x" });
  index.add(selector);
  const first = index.inNamespace("n", labels, true);
  t.same(first.all, [selector]);
  index.add(byLabel("other", { team: "y" }));
  index.add(selectorOf("named", { namespaceSelector: { names: ["m"] } }));
  t.equal(index.inNamespace("n", labels, true), first, "selectors of other namespaces do not evict the cached result");
  index.delete(byLabel("never-added", { team: "x" }));
  t.equal(
    index.inNamespace("n", labels, true),
    first,
    "the removal of an unknown selector does not evict the cached result",
  );
  index.delete(selector);
  t.same(index.inNamespace("n", labels, true).all, []);
  const unknown = (): SelectorList => index.inNamespace("unknown", labels, false);
  t.not(unknown(), unknown(), "the result for an unknown namespace is not cached");
  t.end();
});

test("finds a selector that has several labels, regardless of the order in which selectors are added", (t) => {
  const index = new SelectorIndex(new NamespaceStore());
  const all = ["x", "y", "z"].map((team) => byLabel(team, { env: "prod", team }));
  for (const selector of all) index.add(selector);
  const find = (team: string): string[] => (
    index.inNamespace(team, new Map([["env", "prod"], ["team", team]]), false).all.map(({ name }) => name)
  );
  t.same(["x", "y", "z", "other"].map(find), [["x"], ["y"], ["z"], []]);
  for (const selector of all.slice(0, 2)) index.delete(selector);
  t.same(["x", "y", "z"].map(find), [[], [], ["z"]]);
  t.end();
});

/** Returns selectors that require the label app=a and a different label each, and one that requires no label. */
function labeledSelectors(count: number): EffectiveSelector[] {
  const labeled = Array.from({ length: count }, (_, i) => (
    selectorOf(`s${i}`, { resourceLabelSelector: { matchLabels: { app: "a", id: `${i}` } } })
  ));
  return [...labeled, selectorOf("open", {})];
}

const namesOf = (selectors: Iterable<EffectiveSelector>): string[] => (
  Array.from(selectors, ({ name }) => name).toSorted()
);

test("finds cluster-wide selectors by the labels of a resource", (t) => {
  const index = new SelectorIndex(new NamespaceStore());
  const all = labeledSelectors(100);
  for (const selector of all) index.add(selector);
  const found = (labels?: Record<string, string>): string[] => (
    namesOf(index.clusterWide("g", labels && new Map(Object.entries(labels))).flatMap((set) => [...set]))
  );
  t.equal(found().length, 101);
  t.same(found({ id: "7" }), ["open", "s7"]);
  t.ok(found({ app: "a", id: "7" }).includes("s7"));
  t.ok(found({ app: "a", id: "7" }).length < 5, "a selector is indexed by its rarest label");
  t.same(found({}), ["open"]);
  for (const selector of all) index.delete(selector);
  t.same(found(), []);
  t.end();
});

test("a list finds selectors by the labels of a resource, and returns a short list as it is", (t) => {
  const all = labeledSelectors(100);
  const list = new SelectorList(all);
  t.same(namesOf(list.for(new Map([["id", "7"], ["app", "a"]]))), ["open", "s7"]);
  t.same(namesOf(list.for(new Map())), ["open"]);
  const short = new SelectorList(all.slice(0, 10));
  t.equal(short.for(new Map()), short.all);
  t.end();
});
