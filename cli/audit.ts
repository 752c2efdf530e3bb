import { type ReviewedState, reviewRoles, unreadChecks } from "./features.ts";
import { openCluster } from "./input/connection.ts";
import { type Observation, readObservation } from "./input/observation.ts";
import { auditWithProgress } from "./input/audited.ts";
import { CHECK_FIELDS, Only } from "./input/only.ts";
import { isUnreadable } from "./input/input-faults.ts";
import { readStates, type State, type StateObject } from "./input/state.ts";
import { type Judged, judgedIn, judgedObjects, templateChecker } from "./input/templates.ts";
import { EXIT, type ExitStatus, type IO, withoutNotes, writeJSON, writeLines, writeText } from "./io.ts";
import { type AuditReport, printReports, type ReportedFinding, type Unknown } from "./output/audit-text.ts";
import { distinctObjects, mergeRoots } from "./output/by-root.ts";
import { controllersJSON, settlementLines } from "./output/controllers.ts";
import { coverageOf, isIncomplete, writeNotJudged } from "./output/coverage.ts";
import { junitReport } from "./output/junit.ts";
import { countBySeverity, isFailing, locator } from "./output/located-finding.ts";
import { countObserved, observationJSON } from "./output/observation.ts";
import { sarifLog } from "./output/sarif.ts";
import { notApplied } from "./output/skipped-checks.ts";
import { painter } from "./output/terminal.ts";
import { settleSettings } from "../shared/controllers/controller-settings.ts";
import { systemClock } from "../shared/core/clock.ts";
import { tightest } from "../shared/core/closures.ts";
import { decisionSettings, type DecisionSettings } from "../shared/core/context.ts";
import { WEBHOOK } from "../shared/core/installation.ts";
import type { SkippedCheck } from "../shared/core/run.ts";
import type { SettingsFor } from "../shared/core/settings.ts";
import { offeredRepairs } from "../shared/diagnosis/offered-repairs.ts";
import { RelatedObjects } from "../shared/diagnosis/related.ts";
import type { AuditFinding } from "../shared/diagnosis/audit.ts";
import { objectReference } from "../shared/formats/object-meta.ts";

/** Prints the report of the audit. If any input is unreadable, prints only the faults of the input. */
export async function runAudit(settings: SettingsFor<"audit">, io: IO, clock = systemClock): Promise<ExitStatus> {
  const only = new Only(settings, CHECK_FIELDS);
  const options = { stdinCommand: "audit -", inAllNamespaces: true, readsControllers: true, readsSidecars: true };
  const states = await readStates(settings, io, options);
  const [{ faults, skippedFiles, unjudged }] = states;
  if (isUnreadable(faults, settings, io)) return EXIT.usage;
  const notes = withoutNotes(io, settings);
  writeText(notes.stderr, only.noObjectLines(states), io);
  const reviewed = await reviewRoles(states, settings, notes, clock.now());
  const reports = reviewed.states.map((state) => auditRoot(state, only, settings, notes));
  const observation = settings.cluster ? await observationOf(states, settings, { io, nowMs: clock.now() }) : null;
  const judged = reports.flatMap((report) => report.judged);
  const covered = coverageOf(distinctObjects(reports), judged, unjudged, reports.flatMap((one) => one.reported));
  const findings = allFindings(reports);
  const skipped = notApplied(reports.flatMap((report) => report.skipped), findings);
  writeReports({ reports, findings, skippedFiles }, { covered, skipped, observation }, settings, io);
  const isObserved = settings.profile !== "observe" && countObserved(observation?.observed ?? null) > 0;
  const isFailed = isObserved || reports.some((report) => isFailing(report.findings, settings.failOn));
  return isFailed || isIncomplete(covered, settings.failOn) ? EXIT.findings : EXIT.fine;
}

async function observationOf(
  states: readonly State[], settings: SettingsFor<"audit">, { io, nowMs }: { readonly io: IO; readonly nowMs: number },
): Promise<Observation | null> {
  const controllers = states.flatMap((state) => state.controllers.controllers);
  const { api } = await openCluster(settings, io);
  return await readObservation(api, { controllers, users: settings.controllerUsers, nowMs });
}

interface Audited {
  readonly reports: readonly AuditReport[];
  readonly findings: readonly ReportedFinding[];
  readonly skippedFiles: State["skippedFiles"];
}

function writeReports(
  { reports, findings, skippedFiles }: Audited, unknown: Unknown, settings: SettingsFor<"audit">, io: IO,
): void {
  const { output, failOn } = settings;
  const { covered, skipped, observation } = unknown;
  if (output === "text") return printReports(reports, unknown, settings, io);
  if (output === "json") {
    const [{ coverage }, observed] = [covered, observationJSON(observation)];
    writeJSON(io, { ...auditJSON(reports, findings), observed, notApplied: skipped, skippedFiles, coverage });
  } else {
    const result = { findings, inputErrors: [] };
    const judged = judgedObjects(reports.flatMap((report) => report.judged));
    if (output === "sarif") writeJSON(io, sarifLog(result));
    else io.stdout.write(junitReport({ ...result, command: "audit", judged, failOn }));
    // A Deployment in the input can cause settings with which findings disappear.
    const paint = painter(io.stderr, io.environment);
    const notes = withoutNotes(io, settings);
    writeLines(notes.stderr, reports.flatMap(({ controllers }) => settlementLines(controllers, paint)));
  }
  writeNotJudged(covered, settings, io);
}

function auditRoot(state: ReviewedState, only: Only, settings: SettingsFor<"audit">, io: IO): AuditReport {
  const objects = only.objectsOf(state);
  const controllers = settleSettings(settings, state.controllers);
  const settled = withInstalledProfile(decisionSettings({ ...settings, ...controllers.settings }), state);
  const audit = auditWithProgress(state, objects, settled, io);
  const judged = judgedIn({ objects, inventory: state.inventory });
  const locate = locator(settings.output, state.objects);
  const ofTemplates = templateFindings(judged, templateChecker(state, settled), locate);
  const offered = settings.output === "json" && state.origin === "cluster" ? repairsOffered(state, settled) : same;
  const ofObjects = audit.findings.map((finding) => (
    reportedFinding(offered(finding, objectAt(objects, finding.index)), objects, locate)
  ));
  const findings = [...ofObjects, ...ofTemplates.flat()];
  const summary = { ...audit.summary, checks: audit.summary.checks + ofTemplates.length };
  const skipped = [...audit.skipped, ...unreadChecks(state, settled), ...unreadSidecars(state, settled)];
  return {
    root: state.root, objects, judged,
    reported: [...audit.findings.map(({ index }) => objectAt(objects, index)), ...controllersIn(objects, state)],
    summary, usage: audit.usage, findings, skipped,
    controllers: { ...controllers, deployments: state.controllers.controllers },
  };
}

type Offered = (finding: AuditFinding, found: StateObject) => AuditFinding;

const same: Offered = (finding) => finding;

/** Returns a function that omits the repairs of stored objects that the webhook would deny. */
function repairsOffered({ inventory, origin, objects, controllers }: State, settings: DecisionSettings): Offered {
  const scope = { inventory, settings, origin, related: new RelatedObjects(objects, controllers), isWhole: false };
  return (finding, found) => (
    { ...finding, repairs: offeredRepairs(finding.repairs ?? [], found, { ...scope, subject: found }) }
  );
}

/** Requires of sidecars what the profile of the installation in the cluster requires. */
function withInstalledProfile(settings: DecisionSettings, { sidecars }: State): DecisionSettings {
  if (sidecars === null) return settings;
  const { profileNamespaces } = sidecars;
  const closures = tightest(settings.injection.closures, sidecars.closures);
  return { ...settings, profileNamespaces, injection: { ...settings.injection, closures } };
}

/** Returns the findings of each template that has findings. They are in the last section. */
function templateFindings(
  judged: readonly Judged[], check: ReturnType<typeof templateChecker>, locate: ReturnType<typeof locator>,
): ReportedFinding[][] {
  return judged.map(({ found, template }) => {
    const findings = template === null ? [] : check(template);
    return findings.map((finding) => ({ section: "checks" as const, ...locate(finding, found) }));
  }).filter((findings) => findings.length > 0);
}

function reportedFinding(
  finding: AuditFinding, objects: readonly StateObject[], locate: ReturnType<typeof locator>,
): ReportedFinding {
  return { section: finding.section, ...locate(finding, objectAt(objects, finding.index)) };
}

/** Returns the Deployments of controllers, which the report describes. */
function controllersIn(objects: readonly StateObject[], { controllers: { controllers } }: State): StateObject[] {
  const names = new Set(controllers.map(({ name }) => name));
  return objects.filter(({ object }) => {
    const { kind, namespace, name } = objectReference(object);
    return kind === "Deployment" && names.has(`${namespace}/${name}`);
  });
}

function objectAt(objects: readonly StateObject[], index: number): StateObject {
  const found = objects[index];
  if (found === undefined) throw new Error(`the finding refers to object ${index}, which does not exist`);
  return found;
}

function allFindings(reports: readonly AuditReport[]): readonly ReportedFinding[] {
  return mergeRoots(reports.map(({ root, findings: items }) => ({ root, items })));
}

/** Returns the fields of the reports. With several roots, a summary counts an object outside all roots for each. */
function auditJSON(reports: readonly AuditReport[], findings: readonly ReportedFinding[]): object {
  const parts = reports.map(({ root, summary, usage, findings: own, controllers }) => {
    const { byIdentity, byAccount, omittedIdentities, omittedAccounts } = usage;
    return {
      root, summary: { ...summary, ...countBySeverity(own) },
      clusterUsage: { byIdentity, byAccount, omittedIdentities, omittedAccounts },
      controllers: controllersJSON(controllers),
    };
  });
  const [first, ...others] = parts;
  if (others.length > 0 || first === undefined) return { roots: parts, findings };
  return { summary: first.summary, clusterUsage: first.clusterUsage, controllers: first.controllers, findings };
}

/** Reports AUD-16 as skipped if the Pods or the profile of the installation could not be read. */
function unreadSidecars({ sidecars }: State, { checkSeverities }: DecisionSettings): SkippedCheck[] {
  if (sidecars?.isRead !== false || checkSeverities.get("AUD-16") === "off") return [];
  return [{ code: "AUD-16", needs: `the right to list Pods, and ConfigMaps of the name ${WEBHOOK.profile}` }];
}
