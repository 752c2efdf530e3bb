import { globSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { type CommandResult, runCommand } from "../cli/run-command.ts";
import type { Case } from "./case.ts";
import { inventory, type RandomInventory } from "./generate/inventories.ts";
import { hashOf, isObject, type Json, textAt } from "./generate/json.ts";
import { Random } from "./generate/random.ts";
import type { Environment } from "./generate/settings.ts";
import { changed, type SubjectName, SUBJECTS } from "./generate/subjects.ts";

const ROOT = path.join(import.meta.dirname, "../..");
const READERS = ["lint", "audit", "resolve"] as const;
/** The random inventories that the commands read. They cover all sets of settings. */
const INVENTORIES = 24;

/** Files and folders of manifests, with the flags of each run. */
const FOLDERS: readonly (readonly [folder: string, ...flags: readonly string[]])[] = [
  ["manifests/examples"], ["manifests/examples", "--complete", "--controller-account", "111122223333"],
  ["manifests/examples", "--runtime", "extended", "--allowed-accounts", "111122223333"],
  ["manifests/examples-carm", "--mode", "carm"],
  ["manifests/examples-carm"], ["docs/ci/kustomize"], ["docs/ci/flux"], ["docs/ci/platform"], ["test/fixtures/kro"],
  ["test/fixtures/ci"],
  ["test/fixtures/capa"], ["test/corpus/examples"], ["test/corpus/examples", "--runtime", "extended"],
  ["test/corpus/examples", "--mode", "carm", "--team-level-carm", "--service-level-carm"],
  ["test/corpus/faults", "--complete", "--identity-secret-namespace", "capa-system", "--runtime", "extended"],
  ...["good", "warned", "malformed"].map((name) => [`test/fixtures/selectors/${name}`] as const),
  ...["good-extended", "malformed-extended"].map(
    (name) => [`test/fixtures/selectors/${name}`, "--runtime", "extended"] as const
  ),
];

function filesIn(folder: string): string[] {
  return globSync(`${folder}/**/*.yaml`, { cwd: ROOT }).toSorted();
}

/** Yields what the commands print for the fixtures, the examples and the random inventories. */
export async function* commandCases(): AsyncIterable<Case> {
  for (const [folder, ...flags] of FOLDERS) {
    const content = filesIn(folder).map((file) => readFileSync(path.join(ROOT, file), "utf8"));
    for (const command of READERS) {
      const own = command === "resolve" ? withoutLintFlags(flags) : flags;
      yield await caseOf([command, folder, ...own], {}, content);
    }
  }
  yield* impactCases();
  for (const value of ["=false", ""]) {
    const flags = [`--team-level-carm${value}`, `--service-level-carm${value}`];
    yield await caseOf(["migrate", "carm", "manifests/examples-carm", ...flags], {}, "examples");
    yield await caseOf(["migrate", "carm", "test/corpus/examples/carm.yaml", ...flags], {}, "examples");
  }
  for (let number = 0; number < INVENTORIES; number++) yield* inventoryCases(inventory(number));
}

/** Returns the flags without those that `resolve` does not have. */
function withoutLintFlags(flags: readonly string[]): readonly string[] {
  const secrets = flags.indexOf("--identity-secret-namespace");
  return flags.filter((flag, i) => flag !== "--complete" && (secrets < 0 || (i !== secrets && i !== secrets + 1)));
}

/** Applies and deletes each file of the examples in the state of the whole folder. */
async function* impactCases(): AsyncIterable<Case> {
  for (const folder of ["manifests/examples", "test/corpus/examples"]) {
    for (const file of filesIn(folder)) {
      yield await caseOf(["impact", "--from", folder, "--delete", file], {}, file);
      yield await caseOf(["impact", "--from", folder, file, "--runtime", "extended"], {}, file);
    }
  }
}

async function* inventoryCases(state: RandomInventory): AsyncIterable<Case> {
  const name = `${String(state.number).padStart(2, "0")} ${state.settings}`;
  const folder = await mkdtemp(path.join(tmpdir(), "corpus-"));
  const file = path.join(folder, "state.json");
  const objects = state.objects.filter((one) => one["kind"] !== "Secret" || one["data"] !== undefined);
  await writeFile(file, listOf(objects));
  for (const command of READERS) {
    yield named(`${command} ${name}`, await caseOf([command, file], state.environment, objects));
  }
  const random = new Random(state.number, -1);
  const subjects: readonly SubjectName[] = ["selector", "resource", "namespace", "identity", "cluster", "map"];
  const proposed = subjects.map((subject) => {
    const existing = objects.filter(SUBJECTS[subject].includes);
    return existing.length === 0 ? SUBJECTS[subject].create(random) : changed(random.pick(existing), subject, random);
  });
  const change = path.join(folder, "change.json");
  await writeFile(change, listOf(proposed));
  for (const flags of [[], ["--delete"]]) {
    const result = await caseOf(["impact", "--from", file, change, ...flags], state.environment, [objects, proposed]);
    yield named(`impact ${name}${flags.join("")}`, result);
  }
  await rm(folder, { recursive: true });
}

function listOf(objects: readonly Json[]): string {
  return JSON.stringify({ apiVersion: "v1", kind: "List", items: objects });
}

function named(id: string, one: Case): Case {
  return { ...one, id };
}

async function caseOf(argv: readonly string[], environment: Environment, input: unknown): Promise<Case> {
  const absolute = argv.map((one) => (/^(test|manifests|docs)\//.test(one) ? path.join(ROOT, one) : one));
  const result = await runCommand([...absolute, "-o", "json"], { environment });
  return {
    id: argv.join(" "), input: hashOf([argv.filter((one) => !one.startsWith("/")), environment, input]),
    ...answerOf(result),
  };
}

function answerOf({ status, stdout, stderr }: CommandResult): Omit<Case, "id" | "input"> {
  const json: unknown = stdout === "" ? null : JSON.parse(stdout);
  const findings = (isObject(json) && Array.isArray(json["findings"]) ? json["findings"] : []).filter(isObject);
  const messages: string[] = [];
  const output = withoutTexts(isObject(json) ? { ...json, findings: undefined } : json, messages);
  const sentences = findings.map((one) => `${textAt(one, "code")} ${textAt(one, "message")}; ${textAt(one, "fix")}`);
  return {
    outcome: `exit ${status}`, findings: findings.map(findingText).toSorted(), output,
    messages: [...sentences, ...messages, ...stderr.split("\n").filter((line) => line !== "")].map(masked),
  };
}

function findingText(finding: Json): string {
  const names = [textAt(finding, "namespace"), textAt(finding, "name")];
  const place = names.filter((one) => one !== "").join("/").slice(0, 80);
  const waived = finding["waived"] === true ? " waived" : "";
  const [code, severity, at, kind] = ["code", "severity", "path", "kind"].map((key) => textAt(finding, key));
  return `${code} ${severity}${waived} ${at} of ${kind} ${place}`;
}

const TEXTS: ReadonlySet<string> = new Set(["message", "reason", "fix"]);
const DROPPED: ReadonlySet<string> = new Set(["file", "line", "needs"]);

/** Returns the value without texts for people, empty fields and names of files. Adds the texts to `messages`. */
function withoutTexts(value: unknown, messages: string[]): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutTexts(item, messages));
  if (!isObject(value)) return value;
  const entries = Object.entries(value).flatMap(([key, item]): [string, unknown][] => {
    if (TEXTS.has(key) && typeof item === "string") messages.push(item);
    const isDropped = TEXTS.has(key) || DROPPED.has(key) || item === null || item === undefined || item === 0;
    return isDropped ? [] : [[key, withoutTexts(item, messages)]];
  });
  return Object.fromEntries(entries);
}

/** Replaces what depends on the machine or the day. */
function masked(text: string): string {
  return text.replaceAll(ROOT, ".").replaceAll(/\S*corpus-\w{6}\//g, "").replaceAll(/\b\d+ days\b/g, "N days");
}
