import { test } from "tap";
import type { JsonObject } from "../../../../../shared/decisions/kubernetes/json.ts";
import { bucketObject, namespaceObject, ROLE } from "../../objects.ts";
import { changeLines, needsOf } from "../selector-changes.ts";

const NAMES = "IRS-10 spec.namespaceSelector.names";
const KNOWN = [namespaceObject("team-a", { env: "prod" }), namespaceObject("team-b")];

test("IRS-10: each named namespace that is not there is caught", (t) => {
  const found = (...names: unknown[]): string[] => changeLines("IRS-10", { arn: ROLE, namespaceSelector: { names } }, { known: KNOWN });
  const fix = "Correct the name, or create the namespace.";
  t.same(found("team-a", "team-c", "team-d"), [`${NAMES}[1]: there is no namespace "team-c". ${fix}`, `${NAMES}[2]: there is no namespace "team-d". ${fix}`]);
  t.same(found("team-a", "team-b"), []);
  t.same(found("Team-*", ""), [], "what is no name, IRS-08 and IRS-09 speak of");
  t.same(changeLines("IRS-10", { arn: ROLE }), []);
  t.equal(needsOf("IRS-10", { arn: ROLE }, { origin: "file" }), "namespaces");
  t.equal(needsOf("IRS-10", { arn: ROLE }, { origin: "file", known: KNOWN }), null);
  t.end();
});

const NOTHING = "IRS-22 spec: the selector selects no namespace and no resource that there is. "
  + "Compare its names and labels with kubectl get namespaces --show-labels; nothing is wrong if they come later.";
const reaching = (rest: JsonObject, known: readonly JsonObject[] = KNOWN): string[] => changeLines("IRS-22", { arn: ROLE, ...rest }, { known, settings: { runtime: "extended" } });

test("IRS-22: a selector that selects nothing is caught", (t) => {
  const labelled = (matchLabels: JsonObject): JsonObject => ({ namespaceSelector: { labelSelector: { matchLabels } } });
  t.same(reaching({ namespaceSelector: { names: ["team-c"] } }), [NOTHING]);
  t.same(reaching(labelled({ env: "test" })), [NOTHING]);
  t.same(reaching({ namespaceSelector: { names: ["team-b"], labelSelector: { matchLabels: { env: "prod" } } } }), [NOTHING], "a name without its label");
  t.same(reaching({ namespaceSelector: { labelSelector: { matchExpressions: [{ key: "env", operator: "In", values: ["test"] }] } } }), [NOTHING]);
  t.same(reaching({ resourceTypeSelector: [{ kind: "Bucket" }] }, []), [NOTHING], "an empty cluster");
  t.end();
});

test("IRS-22: a namespace or a resource is enough, and what takes no part is not looked at", (t) => {
  t.same(reaching({ namespaceSelector: { names: ["team-c", "team-b"] } }), []);
  t.same(reaching({ namespaceSelector: { labelSelector: { matchLabels: { env: "prod" } } } }), []);
  t.same(reaching({ namespaceSelector: { labelSelector: { matchExpressions: [{ key: "env", operator: "Exists" }] } } }), []);
  t.same(reaching({ resourceTypeSelector: [{ kind: "Bucket" }] }), [], "the type says nothing of namespaces");
  t.same(reaching({ namespaceSelector: { names: ["team-c"] } }, [bucketObject({ namespace: "team-c" })]), [], "a resource whose namespace is not known");
  t.same(reaching({ arn: "not-an-arn", namespaceSelector: { names: ["team-c"] } }), []);
  t.equal(needsOf("IRS-22", { arn: ROLE }, { origin: "file" }), "namespaces");
  t.end();
});

test("IRS-22 can be put off while it looks at many namespaces", (t) => {
  const many = Array.from({ length: 2_500 }, (_, i) => namespaceObject(`n${i}`));
  t.same(reaching({ namespaceSelector: { labelSelector: { matchExpressions: [{ key: "env", operator: "Exists" }] } } }, many), [NOTHING]);
  t.end();
});
