import { test } from "tap";
import type { JsonObject } from "../../../../../shared/formats/json.ts";
import { bucketObject, namespaceObject, ROLE } from "../../objects.ts";
import { changeLines, needsOf } from "../selector-changes.ts";

const NAMES = "IRS-10 spec.namespaceSelector.names";
const KNOWN = [namespaceObject("team-a", { env: "prod" }), namespaceObject("team-b")];

test("IRS-10: warns about each listed namespace that does not exist", (t) => {
  const linesOf = (...names: unknown[]): string[] =>
    changeLines("IRS-10", { arn: ROLE, namespaceSelector: { names } }, { known: KNOWN });
  const fix = "Correct the name, or create the namespace.";
  t.same(linesOf("team-a", "team-c", "team-d"), [
    `${NAMES}[1]: namespace "team-c" does not exist. ${fix}`,
    `${NAMES}[2]: namespace "team-d" does not exist. ${fix}`,
  ]);
  t.same(linesOf("team-a", "team-b"), []);
  t.same(linesOf("Team-*", ""), [], "IRS-08 and IRS-09 report invalid names");
  t.same(changeLines("IRS-10", { arn: ROLE }), []);
  const complete = { origin: "file", settings: { isInputComplete: true } } as const;
  t.equal(needsOf("IRS-10", { arn: ROLE }, { origin: "file", known: KNOWN }), "--complete or --cluster");
  t.equal(needsOf("IRS-10", { arn: ROLE }, complete), "namespaces");
  t.equal(needsOf("IRS-10", { arn: ROLE }, { ...complete, known: KNOWN }), null);
  t.end();
});

const NOTHING = "IRS-22 spec: the selector selects no existing namespace and no existing resource. "
  + "Compare it with kubectl get namespaces --show-labels; ignore the warning if a namespace is created later.";
const reachLines = (rest: JsonObject, known: readonly JsonObject[] = KNOWN): string[] =>
  changeLines("IRS-22", { arn: ROLE, ...rest }, { known, settings: { runtime: "extended" } });

test("IRS-22: warns about a selector that selects no namespace and no resource", (t) => {
  const labelled = (matchLabels: JsonObject): JsonObject => ({ namespaceSelector: { labelSelector: { matchLabels } } });
  t.same(reachLines({ namespaceSelector: { names: ["team-c"] } }), [NOTHING]);
  t.same(reachLines(labelled({ env: "test" })), [NOTHING]);
  t.same(
    reachLines({ namespaceSelector: { names: ["team-b"], labelSelector: { matchLabels: { env: "prod" } } } }),
    [NOTHING],
    "the namespace does not have the label",
  );
  t.same(
    reachLines({
      namespaceSelector: { labelSelector: { matchExpressions: [{ key: "env", operator: "In", values: ["test"] }] } },
    }),
    [NOTHING],
  );
  t.same(reachLines({ resourceTypeSelector: [{ kind: "Bucket" }] }, []), [NOTHING], "an empty cluster");
  t.end();
});

test("IRS-22: allows a selector that selects a namespace or a resource, and ignores malformed selectors", (t) => {
  t.same(reachLines({ namespaceSelector: { names: ["team-c", "team-b"] } }), []);
  t.same(reachLines({ namespaceSelector: { labelSelector: { matchLabels: { env: "prod" } } } }), []);
  t.same(
    reachLines({ namespaceSelector: { labelSelector: { matchExpressions: [{ key: "env", operator: "Exists" }] } } }),
    [],
  );
  t.same(reachLines({ resourceTypeSelector: [{ kind: "Bucket" }] }), [], "the selector selects every namespace");
  t.same(
    reachLines({ namespaceSelector: { names: ["team-c"] } }, [bucketObject({ namespace: "team-c" })]),
    [],
    "a resource in an unknown namespace",
  );
  t.same(reachLines({ arn: "not-an-arn", namespaceSelector: { names: ["team-c"] } }), []);
  t.equal(needsOf("IRS-22", { arn: ROLE }, { origin: "file", known: KNOWN }), "--complete or --cluster");
  t.end();
});

test("IRS-22: pauses during the scan of many namespaces", (t) => {
  const many = Array.from({ length: 2_500 }, (_, i) => namespaceObject(`n${i}`));
  t.same(
    reachLines(
      { namespaceSelector: { labelSelector: { matchExpressions: [{ key: "env", operator: "Exists" }] } } },
      many,
    ),
    [NOTHING],
  );
  t.end();
});
