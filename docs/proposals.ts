import { readFileSync } from "node:fs";
import { Readable, Writable } from "node:stream";
import { runCommandLine } from "../cli/program.ts";
import { CAPA_VERSION, INFRASTRUCTURE_GROUP } from "../shared/core/capa-kinds.ts";
import { withTable } from "./generated-table.ts";

/** A YAML block of a proposal. `line` is undefined if its document has no lines. */
interface Example {
  readonly document: string;
  readonly url: string;
  readonly line: string | undefined;
  readonly title: string;
  readonly yaml: string;
}

const FIXTURE = new URL("../test/fixtures/proposals.md", import.meta.url);
const DOCUMENT = /^## (?<document>S\d) .*\n\n(?<url>\S+)\n(?<content>(?:(?!## ).*\n)*)/gm;
const EXAMPLE = /^### (?:line (?<line>\d+): )?(?<title>.*)\n\n```yaml\n(?<yaml>[^]*?)^```$/gm;

/** Returns each example of `test/fixtures/proposals.md`, in the order of the file. */
export function proposedExamples(): readonly Example[] {
  return Array.from(readFileSync(FIXTURE, "utf8").matchAll(DOCUMENT)).flatMap(({ groups = {} }) => {
    const { document = "", url = "", content = "" } = groups;
    return Array.from(content.matchAll(EXAMPLE), ({ groups: example = {} }) => {
      const { line, title = "", yaml = "" } = example;
      return { document, url, line, title, yaml };
    });
  });
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

const CARM = ["--mode", "carm", "--team-level-carm=true", "--service-level-carm=true"];
const CARM_DOCUMENTS: ReadonlySet<string> = new Set(["S1", "S2"]);

/** The part of the output of `lint -o json` that the table shows. */
interface Lint {
  readonly findings: readonly {
    readonly severity: string;
    readonly code: string;
    readonly path: string;
    readonly message: string;
  }[];
  readonly inputErrors: readonly { readonly message: string }[];
}

/** Returns what `lint` says about an example: what is unreadable, then denials, then warnings. */
async function saidAbout({ document, yaml }: Example, runtime: "ack" | "extended"): Promise<string[]> {
  const flags = ["--runtime", runtime, ...(CARM_DOCUMENTS.has(document) ? CARM : [])];
  const { findings, inputErrors } = await lint(completed(yaml), flags);
  const texts = ["deny", "warn"].flatMap((severity) => (
    findings.filter((one) => one.severity === severity)
      .map(({ code, path, message }) => `${severity} ${code} \`${path}\`: ${message}`)
  ));
  return [...inputErrors.map(({ message }) => message), ...texts];
}

async function lint(yaml: string, flags: readonly string[]): Promise<Lint> {
  let output = "";
  const stdout = new Writable({ write: (chunk: Buffer, _encoding, done) => {
    output += chunk.toString();
    done();
  } });
  const stderr = new Writable({ write: (_chunk, _encoding, done) => done() });
  const io = { stdin: Readable.from([yaml]), stdout, stderr, environment: {} };
  await runCommandLine(["lint", "-", "-o", "json", ...flags], io);
  return JSON.parse(output);
}

async function rowOf(example: Example): Promise<string> {
  const ack = new Set(await saidAbout(example, "ack"));
  const extended = new Set(await saidAbout(example, "extended"));
  const texts = [...new Set([...ack, ...extended])].map((text) => {
    const shown = text.replaceAll("|", "\\|").replaceAll("<", "&lt;");
    if (!extended.has(text)) return `${shown} (only \`ack\`)`;
    return ack.has(text) ? shown : `${shown} (only \`extended\`)`;
  });
  const { document, line, title, url } = example;
  const place = line === undefined ? url : `${url}?plain=1#L${line}`;
  const said = texts.length === 0 ? "no finding" : texts.join("<br>");
  return `| [${document}](${place}) | ${title} | ${said} |`;
}

/** Returns the page docs/proposals.md with the current table of examples. */
export async function withExampleTable(page: string): Promise<string> {
  const rows = await Promise.all(proposedExamples().map(rowOf));
  return withTable(page, ["| from | example | what `lint` says |", "| --- | --- | --- |", ...rows]);
}
