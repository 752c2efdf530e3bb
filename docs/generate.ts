// Writes the documents that are made from code; with --check compares them instead and exits 1 where one is stale.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import process from "node:process";
import { CATALOGUE } from "../shared/decisions/checks/catalogue.ts";
import type { CheckEntry } from "../shared/decisions/checks/check.ts";
import { ERRORS } from "../shared/decisions/errors.ts";
import { type Definition, DEFINITIONS } from "../shared/decisions/settings.ts";
import { environmentName } from "../shared/server/settings.ts";
import { metricLines } from "./metrics.ts";

const NOTICE = "<!-- Made by `npm run docs`; do not edit. -->";

function settingsPage(): string {
  const rows = DEFINITIONS.map(([, definition]) => `| ${settingRow(definition).join(" | ")} |`);
  return page("Settings", [
    "Flags win over environment variables, which win over defaults. In the environment a repeatable setting is a comma-separated list.",
    "",
    "| flag | environment | type | default | commands | repeatable | what it does |",
    "| --- | --- | --- | --- | --- | --- | --- |",
    ...rows,
  ]);
}

function settingRow(definition: Definition): string[] {
  const { flag, short, type, choices, value, commands, help, helpFor, defaults } = definition;
  const helps = [help, ...Object.entries(helpFor ?? {}).map(([command, text]) => `${command}: ${text}`)];
  const own = Object.entries(defaults ?? {}).map(([command, standard]) => `${shown(type, standard) || "none"} (${command})`);
  return [
    code(short === undefined ? flag : `${short}, ${flag}`), code(environmentName(flag)), cell(choices?.join(", ") ?? value ?? type),
    [shown(type, definition.default), ...own].filter((text) => text !== "").join(", "),
    commands.join(", "), type === "strings" ? "yes" : "no", cell(helps.join("; ")),
  ];
}

function shown(type: Definition["type"], standard: Definition["default"]): string {
  if (standard === null) return "";
  return type === "duration" ? `${Number(standard) / 1000}s` : String(standard);
}

function errorsPage(): string {
  const rows = Object.entries(ERRORS).map(([name, { status, retry, meaning }]) => `| ${code(name)} | ${status} | ${retry ? "yes" : "no"} | ${cell(meaning)} |`);
  return page("Errors", ["| code | HTTP status | worth a retry | meaning |", "| --- | --- | --- | --- |", ...rows]);
}

function checksPage(): string {
  return page("Checks", [
    "What the webhook and `lint` apply to IAMRoleSelectors, ACK resources, Namespaces and the CARM ConfigMaps. `--check ID=deny|warn|off` changes a severity. A check that can be waived is",
    "waived for one object by the annotation `ack-role-resolver.io/allow: ID,...` on it, where the requester may waive.",
    ...CATALOGUE.flatMap(checkSection),
  ]);
}

function checkSection({ id, severity, waivable, deniesInCARM, reason, fix, example }: CheckEntry): string[] {
  const remark = `${deniesInCARM === true ? " with --mode carm, else warn" : ""}${waivable ? ", can be waived" : ""}`;
  return ["", `## ${id}`, "", `Severity: ${severity}${remark}. ${reason}`, "", "```yaml", example, "```", "", `Fix: ${fix}.`];
}

function page(title: string, lines: readonly string[]): string {
  return `${[NOTICE, `# ${title}`, "", ...lines].join("\n")}\n`;
}

function code(text: string): string {
  return `\`${text}\``;
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|");
}

const pages = { "settings.md": settingsPage(), "errors.md": errorsPage(), "checks.md": checksPage(), "metrics.md": page("Metrics", metricLines()) };
for (const [name, content] of Object.entries(pages)) {
  const file = new URL(name, import.meta.url);
  const stale = !existsSync(file) || readFileSync(file, "utf8") !== content;
  if (!stale) continue;
  if (process.argv.includes("--check")) {
    process.stderr.write(`docs/${name} is stale: run npm run docs\n`);
    process.exitCode = 1;
  } else writeFileSync(file, content);
}
