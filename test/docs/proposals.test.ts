import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "tap";
import { CATALOGUE } from "../../shared/judges.ts";
import { CAPA_VERSION, INFRASTRUCTURE_GROUP } from "../../shared/core/capa-kinds.ts";
import { runCommand } from "../cli/run-command.ts";
import { updatesGolden } from "../programs/environment.ts";
import { CARM, TRIALS } from "./proposal-trials.ts";

const PAGE = readFileSync(new URL("../../docs/proposals.md", import.meta.url), "utf8");
/** The statements that are not implemented, each with the answer. */
const ROWS = Array.from(PAGE.matchAll(/^- (\*\*[^]+?)(?=\n- |\n\n|\n*$(?![^]))/gm), ([, text = ""]) => (
  /^\*\*(.*)\*\*: (.*)$/.exec(text.replaceAll(/\s+/g, " "))?.slice(1) ?? []
));
const FIXTURE = path.join(import.meta.dirname, "../fixtures/proposals.md");
const RUNTIMES = ["ack", "extended"] as const;
/** These checks need what a trial does not have: a cluster, a Secret, or two accounts. */
const WITHOUT_TRIAL = new Set(["CI-31", "CI-35", "CI-10", "AC-07"]);

interface Finding {
  readonly severity: string;
  readonly code: string;
  readonly path: string;
  readonly message: string;
}

interface Report {
  readonly findings: readonly Finding[];
  readonly inputErrors?: readonly { readonly message: string }[];
}

async function report(argv: readonly string[], stdin: string): Promise<Report> {
  return JSON.parse((await runCommand([...argv, "-", "-o", "json"], { stdin })).stdout);
}

test("the checks say about the objects of each statement what the page says", async (t) => {
  const statements = new Set(ROWS.map(([statement]) => statement));
  for (const [statement, { before, yaml, flags = [], ack, extended = ack }] of Object.entries(TRIALS)) {
    t.ok(statements.has(statement), `the page has the statement ${statement}`);
    const command = before === undefined ? ["lint"] : ["impact", "--from", t.testdir({ "before.yaml": before })];
    for (const runtime of RUNTIMES) {
      const { findings } = await report([...command, "--runtime", runtime, ...flags], yaml);
      const codes = [...new Set(findings.map(({ code }) => code))].toSorted();
      t.same(codes, runtime === "ack" ? ack : extended, `${statement}, with ${runtime}`);
    }
  }
});

test("each check that a statement names exists, and a trial of the statement proves it", (t) => {
  const ids = new Set(CATALOGUE.map(({ id }) => id));
  for (const [statement = "", answer = ""] of ROWS) {
    for (const [id] of answer.matchAll(/\b[A-Z]+-\d+\b/g)) {
      t.ok(ids.has(id), id);
      t.ok(WITHOUT_TRIAL.has(id) || TRIALS[statement]?.ack.includes(id), `${statement}: ${id}`);
    }
  }
  t.end();
});

const EXAMPLE = /^```yaml\n(?<yaml>[^]*?)^```\n(?:\n```text\n(?<said>[^]*?)^```\n)?/gm;

test("the fixture shows what lint says about each YAML block of the proposals", async (t) => {
  const text = readFileSync(FIXTURE, "utf8");
  const examples = [...text.matchAll(EXAMPLE)];
  t.equal(examples.length, 31);
  let updated = "";
  let end = 0;
  for (const { index, 0: block, groups: { yaml = "", said = "" } = {} } of examples) {
    const now = await saidAbout(text.slice(0, index).match(/^## S\d/gm)?.at(-1) ?? "", yaml);
    if (!updatesGolden()) t.equal(said, now, yaml);
    updated += `${text.slice(end, index)}\`\`\`yaml\n${yaml}\`\`\`\n\n\`\`\`text\n${now}\`\`\`\n`;
    end = index + block.length;
  }
  if (updatesGolden()) writeFileSync(FIXTURE, updated + text.slice(end));
});

/** Returns what `lint` says about an example: what is unreadable, then denials, then warnings. */
async function saidAbout(heading: string, yaml: string): Promise<string> {
  const [ack, extended] = await Promise.all(RUNTIMES.map(async (runtime) => {
    const flags = ["--runtime", runtime, ...(heading === "## S1" || heading === "## S2" ? CARM : [])];
    const { findings, inputErrors = [] } = await report(["lint", ...flags], completed(yaml));
    const texts = ["deny", "warn"].flatMap((wanted) => (
      findings.filter(({ severity }) => severity === wanted)
        .map(({ code, path: field, message }) => `${wanted} ${code} ${field}: ${message}`)
    ));
    return new Set([...inputErrors.map(({ message }) => message), ...texts]);
  }));
  const lines = [...new Set([...ack ?? [], ...extended ?? []])].map((line) => {
    if (extended?.has(line) !== true) return `${line} (only ack)`;
    return ack?.has(line) === true ? line : `${line} (only extended)`;
  });
  return lines.length === 0 ? "no finding\n" : `${lines.join("\n")}\n`;
}

const IDENTITY = `apiVersion: ${INFRASTRUCTURE_GROUP}/${CAPA_VERSION}\nkind: AWSClusterControllerIdentity\n`
  + "metadata: {name: default}\nspec:\n";

/** Returns an example as objects: in the version that CAPA serves, and with what their fragments lack. */
function completed(yaml: string): string {
  return yaml.replaceAll(`${INFRASTRUCTURE_GROUP}/v1alpha3`, `${INFRASTRUCTURE_GROUP}/${CAPA_VERSION}`)
    .split(/^---\n/m).map(completedObject).join("---\n");
}

function completedObject(yaml: string): string {
  if (/^kind:/m.test(yaml)) return yaml;
  const [field] = /^\w+(?=:)/m.exec(yaml) ?? [];
  if (field === "allowedNamespaces") return IDENTITY + yaml.replaceAll(/^(?=.)/gm, "  ");
  if (field === "metadata") return `apiVersion: v1\nkind: Namespace\n${yaml}`;
  if (field !== "data") return yaml;
  const map = /^ +"\d{12}":/m.test(yaml) ? "account" : "team";
  return `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ack-role-${map}-map, namespace: ack-system}\n${yaml}`;
}
