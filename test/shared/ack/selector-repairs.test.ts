import { test } from "tap";
import { describeRepairs, type Repair } from "../../../shared/core/repair.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import {
  bucketObject, existingBucket, FIRST, namespaceObject, newBucket, OWN, repeat, ROLE, roleIn, SECOND, selectorFor,
  selectorObject,
} from "../objects.ts";
import { type Circumstances, findingsOf } from "../core/findings.ts";
import { testRows } from "../rows.ts";

const REPLACES = "ack-role-resolver.io/replaces";
const SETTINGS = { controllerAccount: OWN };

function repairsOf(id: string, object: JsonObject, circumstances: Circumstances = {}): readonly Repair[] {
  const settings = { ...SETTINGS, ...circumstances.settings };
  return findingsOf(id, object, { ...circumstances, settings }).flatMap(({ repairs = [] }) => repairs);
}

/** Returns what the repairs of a check do, with a star for each that is safe. */
function textOf(id: string, object: JsonObject, circumstances?: Circumstances): string {
  const repairs = repairsOf(id, object, circumstances);
  return `${repairs.some(({ isSafe }) => isSafe) ? "* " : ""}${String(describeRepairs(repairs, ["spec"]))}`;
}

type Input = readonly [id: string, object: JsonObject, circumstances?: Circumstances];
const lines = ([id, object, circumstances]: Input): string[] => [textOf(id, object, circumstances)];
const GOLD = selectorFor("gold", FIRST, ["team-a", "team-b"]);
const B1 = newBucket("b1");
const NEW = selectorFor("new", FIRST, ["team-a"]);
const WIDE = selectorFor("new", FIRST, ["team-a", "team-c"]);
const ofLabel = (name: string, tier: string, metadata: JsonObject = {}): JsonObject =>
  selectorObject(name, { arn: roleIn(FIRST), resourceLabelSelector: { matchLabels: { tier } } }, metadata);
const KEEP_NEW = 'to keep new, set spec.namespaceSelector.names of IAMRoleSelector gold to ["team-b"]';
const REPLACE = `if new is to replace gold, set metadata.annotations[${REPLACES}] to "gold"`;

testRows("IRS-17: restricts this selector, or replaces or restricts the other one", lines, [
  ["another namespace is left", ["IRS-17", WIDE, { known: [GOLD, B1] }],
    `to keep gold, set spec.namespaceSelector.names to ["team-c"]; or ${REPLACE}; or ${KEEP_NEW}`],
  ["no namespace is left", ["IRS-17", NEW, { known: [GOLD, B1] }], `${REPLACE}; or ${KEEP_NEW}`],
  ["neither has another namespace", ["IRS-17", NEW, { known: [selectorFor("gold", FIRST, ["team-a"]), B1] }], REPLACE],
  ["the other selects by label", ["IRS-17", NEW, {
    known: [ofLabel("gold", "gold"), newBucket("b1", { labels: { tier: "gold" } })],
  }], REPLACE],
  ["this one selects by label", ["IRS-17", ofLabel("new", "gold"), {
    known: [GOLD, newBucket("b1", { labels: { tier: "gold" } })],
  }], REPLACE],
  ["it replaces one already", ["IRS-17", selectorFor("new", FIRST, ["team-a"], {
    annotations: { [REPLACES]: "old" },
  }), { known: [GOLD, B1] }], `if new is to replace gold, set metadata.annotations[${REPLACES}] to "old,gold"; or `
    + KEEP_NEW],
  ["two others", ["IRS-17", NEW, { known: [GOLD, selectorFor("silver", FIRST, ["team-a"]), B1] }],
    `if new is to replace gold and silver, set metadata.annotations[${REPLACES}] to "gold,silver"`],
  ["another account", ["IRS-17", selectorFor("new", SECOND, ["team-a"]), {
    known: [GOLD, existingBucket("b1", FIRST)],
  }], "null"],
  ["another account before the resource exists", ["IRS-17", selectorFor("new", SECOND, ["team-a"]), {
    known: [GOLD, B1],
  }], `${REPLACE}; or ${KEEP_NEW}`],
  ["more resources than were scanned", ["IRS-17", WIDE, { known: [GOLD, ...repeat(20, newBucket)] }], "null"],
  ["more selectors than an annotation should list", ["IRS-17", WIDE, {
    known: [...repeat(21, (name) => selectorFor(name, FIRST, ["team-a"])), B1],
  }], 'to keep b00, b01, b02 and 18 more, set spec.namespaceSelector.names to ["team-c"]'],
  ["an update", ["IRS-17", NEW, { old: selectorFor("new", FIRST, ["x"]), known: [GOLD, B1] }],
    `to keep gold, set spec.namespaceSelector to {"names":["x"]}; or ${REPLACE}; or ${KEEP_NEW}`],
]);

const TEAM_A = selectorFor("team-a", FIRST, ["team-a"]);
const COPY = "create IAMRoleSelector team-a-2";
const deletion = (known: readonly JsonObject[], object = TEAM_A): Circumstances => (
  { operation: "DELETE", known: [object, ...known] }
);
const ID = { annotations: { "ack-role-resolver.io/external-id": "secret" } };
const withID = selectorFor("team-a", FIRST, ["team-a"], ID);

testRows("a deletion: creates a copy that replaces the selector", lines, [
  ["IRS-30", ["IRS-30", TEAM_A, deletion([B1])], COPY],
  ["another selector has the name", ["IRS-30", TEAM_A, deletion([B1, selectorFor("team-a-2", FIRST, ["x"])])],
    "create IAMRoleSelector team-a-3"],
  ["a malformed selector has the name", ["IRS-30", TEAM_A, deletion([B1, selectorObject("team-a-2", {})])],
    "create IAMRoleSelector team-a-3"],
  ["the copy would contain an external ID", ["IRS-30", withID, deletion([B1], withID)], "null"],
  ["the resource is in another account than the role", ["IRS-30", TEAM_A, deletion([existingBucket("b1", OWN)])],
    "null"],
  ["IRS-19", ["IRS-19", TEAM_A, deletion([
    selectorFor("other", SECOND, ["team-a"]), existingBucket("b1", FIRST),
  ])], COPY],
]);

test("the copy of a selector has its spec and its session settings, and no other metadata", (t) => {
  const annotations = {
    "ack-role-resolver.io/session-name": "ack", "kubectl.kubernetes.io/last-applied-configuration": "{}", note: "x",
    [REPLACES]: "older",
  };
  const selector = selectorFor("team-a", FIRST, ["team-a"], { labels: { a: "b" }, annotations, uid: "u" });
  const [repair] = repairsOf("IRS-30", selector, deletion([B1], selector));
  t.match(repair?.edits[0]?.value, { spec: selector["spec"] });
  t.same(Reflect.get(Object(repair?.edits[0]?.value), "metadata"), {
    name: "team-a-2", annotations: { "ack-role-resolver.io/session-name": "ack", [REPLACES]: "team-a" },
  });
  t.end();
});

const BOTH = selectorFor("team-a", FIRST, ["team-a", "team-b"]);
const IN_B = newBucket("b2", { namespace: "team-b" });
testRows("an update: restores what it changes", lines, [
  ["IRS-20", ["IRS-20", TEAM_A, { old: BOTH, known: [BOTH, IN_B] }],
    'set spec.namespaceSelector to {"names":["team-a","team-b"]}'],
  ["IRS-07", ["IRS-07", selectorFor("team-a", SECOND, ["team-a"]), { old: TEAM_A, known: [TEAM_A] }],
    `set spec.arn to "${roleIn(FIRST, "team-a")}"`],
  ["IRS-15", ["IRS-15", selectorObject("team-a", { arn: roleIn(FIRST) }), { old: TEAM_A, known: [TEAM_A] }],
    'set spec.namespaceSelector to {"names":["team-a"]}'],
  ["IRS-15 of a stored selector", ["IRS-15", selectorObject("team-a", { arn: ROLE }), {
    old: selectorObject("team-a", { arn: ROLE, resourceTypeSelector: [] }),
  }], 'if namespace team-a is meant, set spec.namespaceSelector to {"names":["team-a"]}'],
  ["IRS-02", ["IRS-02", selectorObject("team-a", { arn: ` ${ROLE}` }), {
    old: selectorObject("team-a", { arn: ROLE }),
  }],
    `set spec.arn to "${ROLE}"`],
  ["IRS-02 of a stored role", ["IRS-02", selectorObject("team-a", { arn: ` ${ROLE}`, resourceTypeSelector: [] }), {
    old: selectorObject("team-a", { arn: ` ${ROLE}` }),
  }], "null"],
  ["IRS-04", ["IRS-04", selectorFor("team-a", SECOND, ["team-a"]), {
    old: TEAM_A, settings: { allowedAccounts: [FIRST] },
  }], `set spec.arn to "${roleIn(FIRST, "team-a")}"`],
  ["IRS-19", ["IRS-19", BOTH, {
    old: TEAM_A, known: [TEAM_A, { ...existingBucket("b2", SECOND), ...IN_B, status: {
      ackResourceMetadata: { ownerAccountID: SECOND, arn: "arn:aws:s3:::b2" },
    } }],
  }], 'set spec.namespaceSelector to {"names":["team-a"]}'],
]);

testRows("a new selector", lines, [
  ["IRS-04: the partition of the controllers", ["IRS-04", NEW, { settings: {
    controllerRole: `arn:aws-cn:iam::${FIRST}:role/c`,
  } }], `set spec.arn to "arn:aws-cn:iam::${FIRST}:role/new"`],
  ["IRS-04: the only allowed account", ["IRS-04", NEW, { settings: { allowedAccounts: [SECOND] } }],
    `set spec.arn to "${roleIn(SECOND, "new")}"`],
  ["IRS-04: two allowed accounts", ["IRS-04", NEW, { settings: { allowedAccounts: [SECOND, OWN] } }], "null"],
  ["IRS-15: the name of a namespace", ["IRS-15", selectorObject("team-a", { arn: ROLE })],
    'if namespace team-a is meant, set spec.namespaceSelector to {"names":["team-a"]}'],
  ["IRS-15: another name", ["IRS-15", selectorObject("team.a", { arn: ROLE })], "null"],
  ["IRS-19: another namespace is left", ["IRS-19", selectorFor("new", SECOND, ["team-a", "x"]), {
    known: [existingBucket("b1", FIRST)],
  }], 'set spec.namespaceSelector.names to ["x"]'],
  ["IRS-19: no namespace is left", ["IRS-19", selectorFor("new", SECOND, ["team-a"]), {
    known: [existingBucket("b1", FIRST)],
  }], "null"],
]);

const PAYMENTS = namespaceObject("payments", { team: "checkout" });
const labelled = (matchLabels: JsonObject): JsonObject =>
  selectorObject("new", { arn: ROLE, namespaceSelector: { labelSelector: { matchLabels } } });
const LABEL = "spec.namespaceSelector.labelSelector.matchLabels[team]";

testRows("IRS-10 and IRS-22: write the only near name or label", lines, [
  ["a namespace of a cluster", ["IRS-10", selectorFor("new", FIRST, ["paymnets"]), { known: [PAYMENTS] }],
    '* set spec.namespaceSelector.names[0] to "payments"'],
  ["a namespace of an incomplete input", ["IRS-10", selectorFor("new", FIRST, ["paymnets"]), {
    known: [PAYMENTS], origin: "file",
  }], 'set spec.namespaceSelector.names[0] to "payments"'],
  ["two namespaces of an incomplete input", ["IRS-10", selectorFor("new", FIRST, ["payment"]), {
    known: [PAYMENTS, namespaceObject("paymment")], origin: "file",
  }], 'if "payments" is meant, set spec.namespaceSelector.names[0] to "payments"; or if "paymment" is meant, set '
    + 'spec.namespaceSelector.names[0] to "paymment"'],
  ["the namespace of an object in a complete input", ["IRS-10", bucketObject({ namespace: "paymnets" }), {
    known: [PAYMENTS], origin: "file", settings: { isInputComplete: true },
  }], '* set metadata.namespace to "payments"'],
  ["IRS-22: a namespace", ["IRS-22", selectorFor("new", FIRST, ["paymnets"]), { known: [PAYMENTS] }],
    '* set spec.namespaceSelector.names[0] to "payments"'],
  ["IRS-22: a value", ["IRS-22", labelled({ team: "chekout" }), { known: [PAYMENTS] }], `* set ${LABEL} to "checkout"`],
  ["IRS-22: a key", ["IRS-22", labelled({ taem: "checkout" }), { known: [PAYMENTS] }],
    `* remove spec.namespaceSelector.labelSelector.matchLabels[taem] and set ${LABEL} to "checkout"`],
  ["IRS-22: a value that is an abbreviation", ["IRS-22", labelled({ team: "check" }), { known: [PAYMENTS] }],
    `set ${LABEL} to "checkout"`],
  ["IRS-22: no namespace has both labels", ["IRS-22", labelled({ team: "chekout", a: "b" }), { known: [PAYMENTS] }],
    "null"],
  ["IRS-22: a namespace has both labels", ["IRS-22", labelled({ team: "chekout", a: "b" }), {
    known: [namespaceObject("payments", { team: "checkout", a: "b" })],
  }], `* set ${LABEL} to "checkout"`],
  ["IRS-22: a value with other punctuation, and one with another letter", ["IRS-22", labelled({ team: "checkout" }), {
    known: [namespaceObject("a", { team: "checkouts" }), namespaceObject("b", { team: "check-out" })],
  }], `* set ${LABEL} to "check-out"`],
  ["IRS-22: two near values", ["IRS-22", labelled({ team: "checkout" }), {
    known: [namespaceObject("a", { team: "checkouts" }), namespaceObject("b", { team: "checkot" })],
  }], `if "checkot" is meant, set ${LABEL} to "checkot"; or if "checkouts" is meant, set ${LABEL} to "checkouts"`],
  ["IRS-22: a name beside another one that does not exist", ["IRS-22", selectorFor("new", FIRST, ["paymnets", "x"]), {
    known: [PAYMENTS],
  }], '* set spec.namespaceSelector.names[0] to "payments"'],
  ["IRS-22: the value of an expression", ["IRS-22", selectorObject("new", {
    arn: ROLE, namespaceSelector: {
      labelSelector: { matchExpressions: [{ key: "team", operator: "In", values: ["chekout"] }] },
    },
  }), { known: [PAYMENTS], settings: { runtime: "extended" } }],
  '* set spec.namespaceSelector.labelSelector.matchExpressions[0].values[0] to "checkout"'],
  ["IRS-10: a label of a resource", ["IRS-10", selectorObject("new", {
    arn: ROLE, resourceLabelSelector: { matchLabels: { tier: "fornt" } },
  }), { known: [bucketObject({ labels: { tier: "front" } })] }],
  '* set spec.resourceLabelSelector.matchLabels[tier] to "front"'],
  ["IRS-22: two names", ["IRS-22", selectorFor("new", FIRST, ["a", "b"]), { known: [PAYMENTS] }], "null"],
]);

const annotated = (name: string, annotations: JsonObject): JsonObject =>
  selectorObject(name, { arn: ROLE, namespaceSelector: { names: [name] } }, { annotations });
const setting = (name: string, value: string): JsonObject => ({ [`ack-role-resolver.io/${name}`]: value });
testRows("IRS-40: writes the setting of the other selector, but never an external ID",
  ([own, other]: readonly [JsonObject, JsonObject]) => lines(["IRS-40", annotated("a", own), {
    known: [annotated("b", other)],
  }]), [
    ["a session name", [{}, setting("session-name", "ack")],
      'set metadata.annotations[ack-role-resolver.io/session-name] to "ack"'],
    ["a source identity", [setting("source-identity", "me"), setting("source-identity", "ack")],
      'set metadata.annotations[ack-role-resolver.io/source-identity] to "ack"'],
    ["tags", [{}, setting("session-tags", "b={group},a=x")],
      'set metadata.annotations[ack-role-resolver.io/session-tags] to "a=x,b={group}"'],
    ["no tags", [setting("session-tags", "a=x"), {}],
      "remove metadata.annotations[ack-role-resolver.io/session-tags]"],
    ["a duration", [{}, setting("duration-seconds", "900")],
      'set metadata.annotations[ack-role-resolver.io/duration-seconds] to "900"'],
    ["no duration", [setting("duration-seconds", "900"), {}],
      "remove metadata.annotations[ack-role-resolver.io/duration-seconds]"],
    ["an external ID", [{}, setting("external-id", "secret")], "null"],
    ["no external ID", [setting("external-id", "secret"), {}],
      "remove metadata.annotations[ack-role-resolver.io/external-id]"],
  ]);
