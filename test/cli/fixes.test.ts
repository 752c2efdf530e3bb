import { parse } from "yaml";
import { test } from "tap";
import { SELECTOR_SELF_CHECKS } from "../../shared/ack/judge-selector.ts";
import { field, isJsonObject, type JsonObject, valueAt } from "../../shared/formats/json.ts";
import { bucketObject, namespaceObject, ROLE, selectorObject } from "../shared/objects.ts";
import { runCommand } from "./run-command.ts";

interface Finding {
  readonly code: string;
  readonly severity: string;
  readonly kind: string;
  readonly path: string;
  readonly fix: string;
}

/** A list or an object in which a finding names a value, and the key of the value. */
interface Place {
  readonly parent: Record<string | number, unknown>;
  readonly key: string | number;
}

type Follow = (place: Place, words: readonly string[]) => void;

/** What a user does who follows a fix word by word. Other fixes need a decision. */
const WORD_BY_WORD: readonly (readonly [fix: RegExp, follow: Follow])[] = [
  [/^remove (?:this entry|the field|apiVersion once .*)$/, ({ parent, key }) => remove(parent, key)],
  [/^write (\S+) instead of "\S+"$/, ({ parent, key }, [name = ""]) => {
    const value = parent[key];
    remove(parent, key);
    setAt(parent, name.split("."), value);
  }],
  [/^write a list with this item$/, ({ parent, key }) => {
    parent[key] = [parent[key]];
  }],
  [/^write the list in its field (\S+)$/, ({ parent, key }, [name = ""]) => {
    parent[key] = { [name]: parent[key] };
  }],
  [/^put the value in quotes$/, ({ parent, key }) => {
    parent[key] = String(parent[key]);
  }],
  [/^write (s3\.services\.k8s\.aws)$/, ({ parent, key }, [group]) => {
    parent[key] = group;
  }],
  [/^add (.*)$/, ({ parent, key }, [fields = ""]) => {
    const written: unknown = parse(`{${fields.replace(" and ", ", ")}}`);
    parent[key] = Object.assign({}, parent[key], written);
  }],
  [/^write apiVersion: (\S+) and kind: (\S+)$/, ({ parent }, [apiVersion, kind]) => {
    Object.assign(parent, { apiVersion, kind });
  }],
];

function remove(parent: Place["parent"], key: string | number): void {
  if (Array.isArray(parent)) parent.splice(Number(key), 1);
  else delete parent[key];
}

function setAt(parent: Place["parent"], [key = "", ...inner]: readonly string[], value: unknown): void {
  if (inner.length === 0) {
    parent[key] = value;
    return;
  }
  const child = isJsonObject(parent[key]) ? { ...parent[key] } : {};
  parent[key] = child;
  setAt(child, inner, value);
}

function placeOf(object: JsonObject, path: string): Place {
  const steps = Array.from(path.matchAll(/\[([^\]]+)\]|[^.[\]]+/g), ([all, key = all]) => key);
  const parent = valueAt(object, steps.slice(0, -1));
  const key = steps.at(-1) ?? "";
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a list or an object
  return { parent: parent as Place["parent"], key: Array.isArray(parent) ? Number(key) : key };
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

const MOST_FIXES = 10;

/** Follows the first fix that needs no decision until there is none. Returns the selector. */
async function followed(selector: JsonObject): Promise<JsonObject> {
  const copy = structuredClone(selector);
  for (let i = 0; i < MOST_FIXES; i++) {
    const findings = await findingsIn(copy);
    const step = findings.flatMap(({ path, fix }) => WORD_BY_WORD.flatMap(([pattern, follow]) => {
      const words = pattern.exec(fix.replace(/, or install the CRD .*$/, ""))?.slice(1);
      return words === undefined ? [] : [(): void => follow(placeOf(copy, path), words)];
    }))[0];
    if (step === undefined) return copy;
    step();
  }
  throw new Error(`still has fixes after ${MOST_FIXES}: ${JSON.stringify(copy)}`);
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

test("lint finds no fault in a selector after its fixes are followed word by word", async (t) => {
  for (const [title, spec, expected, rest = {}] of CASES) {
    const fixed = await followed({ ...selectorObject("s", { arn: ROLE, ...spec }), ...rest });
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

test("the fixes of the examples of checks widen no selector, except one that selects everything", async (t) => {
  for (const { id, example } of SELECTOR_SELF_CHECKS) {
    const written: unknown = parse(example);
    const spec = field(written, "spec") ?? {};
    const isOfEverything = id === "IRS-15";
    const base = isOfEverything || field(spec, "namespaceSelector") !== undefined ? {} : TEAM_A;
    const selector = selectorObject("s", Object.assign({ arn: ROLE }, base, spec), metadataOf(written));
    const codes = new Set((await findingsIn(selector)).map(({ code }) => code));
    if (!["IRS-01", "IRS-48"].includes(id)) t.ok(codes.has(id), `${id} reports its example`);
    t.equal(await roleOfOutsider(await followed(selector)) !== null, isOfEverything || id === "IRS-35", id);
  }
});
