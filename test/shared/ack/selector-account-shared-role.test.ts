import { test } from "tap";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { ADMIN, ROLE, selectorObject } from "../objects.ts";
import { type Circumstances, linesOf } from "../core/findings.ts";
import { testRows } from "../rows.ts";

const FIX = "Set the same annotations on every selector of the role, or merge the selectors. "
  + "To change the annotations of several selectors, first set --check IRS-40=warn; the sidecar denies the role "
  + "until the annotations match.";

/** Returns a selector that selects the namespace of the same name. */
function selector(name: string, extras: Readonly<Record<string, string>> = {}, arn = ROLE): JsonObject {
  const annotations = Object.fromEntries(
    Object.entries(extras).map(([key, value]) => [`ack-role-resolver.io/${key}`, value]),
  );
  return selectorObject(name, { arn, namespaceSelector: { names: [name] } }, { annotations });
}

const line = (name: string, others = "b", severity = "deny"): string => (
  `${severity} IRS-40 metadata.annotations[ack-role-resolver.io/${name}]: `
    + `the selector has the same role as ${others}, but a different ${name}. ${FIX}`
);
const irs40 = ([object, known, rest]: [JsonObject, JsonObject[], Circumstances?]): string[] =>
  linesOf("IRS-40", object, { known, ...rest });
const tags = (name: string, value: string): JsonObject => selector(name, { "session-tags": value });

test("IRS-40: names the annotations that differ between selectors of one role, but not the values", (t) => {
  const values = {
    "external-id": "planted",
    "session-name": "planted",
    "source-identity": "planted",
    "session-tags": "a=planted",
    "duration-seconds": "1000",
  };
  t.same(irs40([selector("team-a", values), [selector("b"), selector("c", { "external-id": "planted" })]]), [
    line("duration-seconds", "b and c"), line("external-id"), line("session-name", "b and c"),
    line("session-tags", "b and c"), line("source-identity", "b and c"),
  ]);
  for (const [name, value] of Object.entries(values)) {
    const set = { [name]: value };
    t.same(irs40([selector("team-a", set), [selector("b")]]), [line(name)], `${name} is set on this selector only`);
    t.same(irs40([selector("team-a"), [selector("b", set)]]), [line(name)], `${name} is set on the other one only`);
    t.same(irs40([selector("team-a", set), [selector("b", set)]]), [], `${name} is equal`);
  }
  t.end();
});

const MINE = selector("team-a", { "external-id": "mine" });
const OTHER = selector("b", { "external-id": "other" });
const WAIVED = selector("team-a", { "external-id": "mine", allow: "IRS-40" });
const AS_WARNING = { settings: { checkSeverities: new Map([["IRS-40", "warn" as const]]) } };
const TWIN = { "external-id": "one" };
const others = Array.from({ length: 60 }, (_, i) => selector(`s${i + 10}`, i < 30 ? TWIN : { "external-id": "two" }));

testRows("IRS-40: compares the sessions of selectors of one role", irs40, [
  ["tags in another order", [tags("team-a", "a=1,b=2"), [tags("b", "b = 2, a = 1")]]],
  ["a template with the same "
    + "value", [tags("team-a", "a={account},b={group}"), [tags("b", "a=111122223333,b={group}")]]],
  ["a template of the selector", [tags("team-a", "a={selector}"), [tags("b", "a={selector}")]], line("session-tags")],
  ["a template of the "
    + "namespace", [tags("team-a", "a={namespace}"), [tags("b", "a={namespace}")]], line("session-tags")],
  ["another role", [MINE, [selector("b", { "external-id": "other" }, `${ROLE}-2`)]]],
  ["the stored selector itself", [MINE, [selector("team-a", { "external-id": "other" })]]],
  ["a malformed selector", [selectorObject("team-a", { arn: "nonsense" }), [OTHER]]],
  ["the other selector is being deleted",
    [MINE, [OTHER], { pending: { deletions: new Set(["b"]), writes: new Map() } }]],
  ["the check cannot be waived", [WAIVED, [selector("b")], { requester: ADMIN }], line("external-id")],
  ["the stored selector has the same difference",
    [WAIVED, [selector("b")], { old: selector("team-a", { "external-id": "before" }) }],
    line("external-id", "b", "warn")],
  ["the update adds the annotation", [WAIVED, [selector("b")], { old: selector("team-a") }], line("external-id")],
  ["--check IRS-40=warn", [WAIVED, [selector("b")], AS_WARNING], line("external-id", "b", "warn")],
  ["stops after 20 selectors that differ, and does not count equal ones",
    [selector("team-a", TWIN), others], line("external-id", "s40, s41, s42 and others")],
]);
