import { isChecked } from "../shared/decisions/checks/applied-checks.ts";
import { judge } from "../shared/decisions/checks/judge.ts";
import { type FieldPath, formatFieldPath } from "../shared/decisions/field-path.ts";
import { compareText, type Finding, type Severity } from "../shared/decisions/finding.ts";
import { objectMeta } from "../shared/decisions/object-meta.ts";
import { type DecisionSettings, decisionSettings, type SettingsFor } from "../shared/decisions/settings.ts";
import type { Manifest } from "../shared/inventory/manifest-reader.ts";
import { readInput, reportFaults } from "./input.ts";
import { EXIT, type ExitStatus, type IO } from "./io.ts";
import { painter } from "./paint.ts";

/** A finding and where it is, in the shape of `-o json`. */
interface LocatedFinding {
  readonly file: string | null;
  readonly line: number | null;
  readonly kind: string;
  readonly name: string;
  readonly namespace: string | null;
  readonly path: string;
  readonly code: string;
  readonly severity: Severity;
  readonly message: string;
  readonly fix: string;
  readonly waivable: boolean;
  readonly waived: boolean;
}

/** Judges and prints what could be read; what could not makes the exit status 2. */
export async function runLint(settings: SettingsFor<"lint">, io: IO): Promise<ExitStatus> {
  const { manifests, faults } = await readInput(settings.from, io);
  const checked = manifests.filter(({ object }) => isChecked(object));
  const findings = checked.toSorted(byPlace).flatMap((manifest) => lintManifest(manifest, decisionSettings(settings)));
  if (settings.output === "json") io.stdout.write(`${JSON.stringify({ checked: checked.length, findings, notApplied: [] }, null, 2)}\n`);
  else printText(findings, checked.length, io);
  reportFaults(faults, io);
  if (faults.length > 0) return EXIT.usage;
  const failing = findings.some(({ severity, waived }) => severity === "deny" || (settings.failOn === "warn" && !waived));
  return failing ? EXIT.findings : EXIT.fine;
}

function byPlace(a: Manifest, b: Manifest): number {
  return compareText(a.file, b.file) || a.document - b.document;
}

function lintManifest(manifest: Manifest, settings: DecisionSettings): LocatedFinding[] {
  const { findings } = judge({ object: manifest.object, old: null, requester: null, origin: "file" }, settings);
  return findings.map((finding) => located(finding, manifest));
}

function located({ code, severity, path, message, fix, waivable, waived }: Finding, manifest: Manifest): LocatedFinding {
  const { kind, name, namespace } = objectMeta(manifest.object);
  return {
    file: manifest.file, line: lineOf(manifest, path), kind, name, namespace: namespace === "" ? null : namespace,
    path: formatFieldPath(path), code, severity, message, fix, waivable, waived,
  };
}

/** Of the field, or where it is missing of the closest that is there. */
function lineOf(manifest: Manifest, path: FieldPath): number | null {
  for (let depth = path.length; depth >= 0; depth--) {
    const line = manifest.lineOf(path.slice(0, depth));
    if (line !== null) return line;
  }
  return null;
}

function printText(findings: readonly LocatedFinding[], checked: number, io: IO): void {
  const paint = painter(io.stdout, io.environment);
  for (const { file, line, name, path, code, severity, message, fix, waived } of findings) {
    const colour = severity === "deny" ? "red" : "yellow";
    io.stdout.write(`${file}:${line}: ${paint(colour, severity)}${waived ? " (waived)" : ""} ${code} IAMRoleSelector ${name} ${path}\n`);
    io.stdout.write(`    ${message}\n    ${paint("dim", `fix: ${fix}`)}\n`);
  }
  const denied = findings.filter(({ severity }) => severity === "deny").length;
  io.stdout.write(`${checked} checked, ${denied} denied, ${findings.length - denied} warned\n`);
}
