import { parse } from "yaml";
import { test } from "tap";
import { SELECTOR_SELF_CHECKS } from "../../shared/ack/judge-selector.ts";
import { field, isJsonObject, type JsonObject, valueAt } from "../../shared/formats/json.ts";
import { applyEdits, type Repair } from "../../shared/core/repair.ts";
import { runChecks } from "../../shared/judges.ts";
import {
  bucketObject, inventoryWith, namespaceObject, ROLE, selectorObject, SETTINGS_BY_DEFAULT,
} from "../shared/objects.ts";
import { runCommand } from "./run-command.ts";

interface Finding {
  readonly code: string;
  readonly severity: string;
  readonly kind: string;
}

const OUTSIDER = bucketObject({ name: "outsider", namespace: "other" });
const INPUT = [namespaceObject("team-a"), namespaceObject("other"), OUTSIDER];

async function findingsIn(selector: JsonObject): Promise<readonly Finding[]> {
  const stdin = [...INPUT, selector].map((object) => JSON.stringify(object)).join("\n---\n");
  const { stdout } = await runCommand(["lint", "-", "--no-webhook", "-o", "json"], { stdin });
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the format is documented
  const { findings } = JSON.parse(stdout) as { readonly findings: readonly Finding[] };
  return findings.filter(({ kind }) => kind !== "Bucket");
}

async function roleOfOutsider(selector: JsonObject): Promise<string | null> {
  const stdin = [...INPUT, selector].map((object) => JSON.stringify(object)).join("\n---\n");
  const { stdout } = await runCommand(["resolve", "-", "-o", "json"], { stdin });
  const role = valueAt(JSON.parse(stdout), [0, "roleARN"]);
  return typeof role === "string" ? role : null;
}

const MOST_REPAIRS = 10;
const SETTINGS = { ...SETTINGS_BY_DEFAULT, isWebhookInstalled: false };

/** Returns the first repair that needs no decision: one that is safe, or the only one if it only removes a field. */
function nextRepair(object: JsonObject): Repair | undefined {
  const inventory = inventoryWith([...INPUT, object], { runtime: "ack", origin: "file" });
  const { findings } = runChecks({ object, old: null, requester: null, origin: "file", inventory }, SETTINGS);
  return findings.flatMap(({ repairs = [] }) => repairs).find(({ isSafe, when, edits }) => (
    isSafe === true || (when === undefined && edits.every(({ value }) => value === undefined))
  ));
}

/** Applies the first repair that needs no decision until there is none. Returns the selector. */
function repaired(selector: JsonObject): JsonObject {
  let object = selector;
  for (let i = 0; i < MOST_REPAIRS; i++) {
    const repair = nextRepair(object);
    if (repair === undefined) return object;
    object = applyEdits(object, repair.edits) ?? {};
  }
  throw new Error(`still has repairs after ${MOST_REPAIRS}: ${JSON.stringify(object)}`);
}

const S3 = "s3.services.k8s.aws";
const TEAM_A = { namespaceSelector: { names: ["team-a"] } };
const LABELS = { matchLabels: { tier: "gold" } };

const CASES: readonly (readonly [title: string, spec: object, expected: object | null, rest?: object])[] = [
  ["an entry of apiVersion", { ...TEAM_A, resourceTypeSelector: [{ apiVersion: "ec2.services.k8s.aws/v1alpha1" }] },
    { ...TEAM_A, resourceTypeSelector: [{ group: "ec2.services.k8s.aws", version: "v1alpha1", kind: "" }] }],
  ["a repeated entry", { ...TEAM_A, resourceTypeSelector: [{ group: S3 }, { group: S3 }] },
    { ...TEAM_A, resourceTypeSelector: [{ group: S3, version: "", kind: "" }] }],
  ["a repeated namespace", { namespaceSelector: { names: ["team-a", "team-a"] } }, TEAM_A],
  ["one namespace instead of a list", { namespaceSelector: { names: "team-a" } }, TEAM_A],
  ["a list instead of an object", { namespaceSelector: ["team-a"] }, TEAM_A],
  ["namespaces", { namespaces: ["team-a"] }, TEAM_A],
  ["a selector of labels", { selector: LABELS }, { resourceLabelSelector: LABELS }],
  ["labels in a selector of namespaces", { namespaceSelector: LABELS },
    { namespaceSelector: { names: [], labelSelector: LABELS } }],
  ["another name of the role", { ...TEAM_A, arn: undefined, roleARN: ROLE, targetAccountId: "111122223333" }, TEAM_A],
  ["a label that is a number", { ...TEAM_A }, TEAM_A, { metadata: { name: "s", labels: { a: 1 } } }],
  ["another version", { ...TEAM_A }, TEAM_A, { apiVersion: "services.k8s.aws/v1", kind: "IamRoleSelector" }],
  ["an empty namespace, where only a decision helps", { namespaceSelector: { names: [""] } }, null],
  ["an empty entry, where only a decision helps", { ...TEAM_A, resourceTypeSelector: [{}] }, null],
];

test("lint finds no fault in a selector after its repairs that need no decision", async (t) => {
  for (const [title, spec, expected, rest = {}] of CASES) {
    const fixed = repaired({ ...selectorObject("s", { arn: ROLE, ...spec }), ...rest });
    const denials = (await findingsIn(fixed)).filter(({ severity }) => severity === "deny");
    if (expected === null) t.ok(denials.length > 0, title);
    else t.same([field(fixed, "spec"), denials], [{ arn: ROLE, ...expected }, []], title);
    t.equal(await roleOfOutsider(fixed), null, `${title}: no other namespace gets the role`);
  }
});

function metadataOf(written: unknown): JsonObject {
  const metadata = field(written, "metadata");
  return isJsonObject(metadata) ? metadata : {};
}

test("the repairs of the examples of checks widen no selector, except one that selects everything", async (t) => {
  for (const { id, example } of SELECTOR_SELF_CHECKS) {
    const written: unknown = parse(example);
    const spec = field(written, "spec") ?? {};
    const isOfEverything = id === "IRS-15";
    const base = isOfEverything || field(spec, "namespaceSelector") !== undefined ? {} : TEAM_A;
    const selector = selectorObject("s", Object.assign({ arn: ROLE }, base, spec), metadataOf(written));
    const codes = new Set((await findingsIn(selector)).map(({ code }) => code));
    if (!["IRS-01", "IRS-48"].includes(id)) t.ok(codes.has(id), `${id} reports its example`);
    t.equal(await roleOfOutsider(repaired(selector)) !== null, isOfEverything || id === "IRS-35", id);
  }
});
