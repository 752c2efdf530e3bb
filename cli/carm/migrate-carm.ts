import { runChecks } from "../../shared/judges.ts";
import { NAMESPACE_OWNERS } from "../../shared/carm/namespace-owners.ts";
import { CARM_MAPS } from "../../shared/carm/map-store.ts";
import { renderYAML } from "../../manifests/render.ts";
import { type Finding, findingLine } from "../../shared/core/check.ts";
import { ACCOUNT_MAP, TEAM_MAP } from "../../shared/core/annotation-keys.ts";
import { decisionSettings } from "../../shared/core/context.ts";
import { ResolverError } from "../../shared/formats/errors.ts";
import type { Inventory } from "../../shared/core/inventory.ts";
import { accountOfARN } from "../../shared/formats/arn.ts";
import { isACKGroup } from "../../shared/core/ack-groups.ts";
import { objectReference } from "../../shared/formats/object-meta.ts";
import { countOf, printable } from "../../shared/formats/text.ts";
import {
  decideGates, type GateProblem, type GateValues, uncoveredControllers,
} from "./migration-gates.ts";
import {
  type MigrationPlan, planMigration, type ProvedMigration, proveMigration,
} from "../../shared/carm/migration-plan.ts";
import { deploymentsText } from "../../shared/controllers/controller-deployment.ts";
import type { SettingsFor } from "../../shared/core/settings.ts";
import { EXIT, type ExitStatus, type IO, writeJSON, writeLines } from "../io.ts";
import { runWithProgress } from "../output/progress.ts";
import { isUnreadable } from "../input/input-faults.ts";
import { readStates, type State } from "../input/state.ts";
import { type Paint, painter } from "../output/terminal.ts";

/** A finding for which the webhook would deny a generated selector. */
interface Denial {
  readonly name: string;
  readonly finding: Finding;
}

/** Prints the generated selectors to stdout; prints the proof, the inexpressible cases and the steps to stderr. */
export async function runMigrateCARM(settings: SettingsFor<"migrate carm">, io: IO): Promise<ExitStatus> {
  checkExtraGroups(settings.extraGroups);
  const options = { stdinCommand: "migrate carm -", readsControllers: true };
  const [state] = await readStates({ ...settings, mode: "carm" }, io, options);
  if (isUnreadable(state.faults, settings, io)) return EXIT.usage;
  if (!hasCARM(state.inventory)) {
    io.stderr.write(`ack-role-resolver: ${NO_CARM}\n`);
    return EXIT.findings;
  }
  const { teamLevelCarm, serviceLevelCarm, ackSystemNamespace } = settings;
  const stated = { TeamLevelCARM: teamLevelCarm, ServiceLevelCARM: serviceLevelCarm };
  const { values: gates, problems } = decideGates(stated, state.controllers, ackSystemNamespace);
  if (gates === null) {
    writeLines(io.stderr, [`ack-role-resolver: ${UNCERTAIN}`, ...problems.flatMap(problemLines)]);
    return EXIT.findings;
  }
  const controllerAccount = settings.controllerAccount ?? accountOfARN(settings.controllerRole ?? "");
  const input = decisionSettings({
    ...settings, mode: "carm", controllerAccount, teamLevelCarm: gates.TeamLevelCARM,
    serviceLevelCarm: gates.ServiceLevelCARM,
  });
  const plan = planMigration(state.inventory, input, settings.extraGroups);
  state.inventory.apply(plan.changes);
  const migration = provedFor(state, runWithProgress(proveMigration(plan), io, progressText), ackSystemNamespace);
  const denials = denialsOf(plan, state);
  if (settings.output === "json") {
    const json = { ...migrationJSON(migration, denials), gates, skippedFiles: state.skippedFiles };
    writeJSON(io, json);
  } else {
    io.stdout.write(renderYAML(migration.selectors));
    const report = { denials, gates: gatesText(gates, state) };
    writeLines(io.stderr, reportLines(migration, report, painter(io.stderr, io.environment)));
  }
  return migration.proof.differences.length === 0 && denials.length === 0 ? EXIT.fine : EXIT.findings;
}

const NO_CARM = "the input contains no CARM ConfigMap and no namespace with an account or team annotation, "
  + "so there is nothing to migrate. Pass the ConfigMaps and the Namespaces of the controllers, or --cluster";

const UNCERTAIN = "no selectors are generated, because it is not certain which roles the controllers use now:";

function problemLines({ problem, fix }: GateProblem): string[] {
  return [printable(`  ${problem}`), printable(`    fix: ${fix}`)];
}

function provedFor(
  { controllers }: State, migration: ProvedMigration, systemNamespace: string,
): ProvedMigration {
  const inexpressible = [...migration.inexpressible, ...uncoveredControllers(controllers, systemNamespace)];
  return { ...migration, inexpressible };
}

/** Returns the feature gates of the proof, and where they come from. */
function gatesText(gates: GateValues, { controllers: { controllers } }: State): string {
  const values = Object.entries(gates).map(([gate, isOn]) => `${gate} ${isOn ? "on" : "off"}`).join(", ");
  const names = controllers.map(({ name }) => name);
  const source = names.length === 0 ? "as the flags state" : `as in ${deploymentsText(names)}`;
  return `Feature gates: ${values}, ${source}.`;
}

/** Returns whether any namespace has a CARM ConfigMap, or names an account or a team in its annotations. */
function hasCARM(inventory: Inventory): boolean {
  const maps = [ACCOUNT_MAP, TEAM_MAP].flatMap((name) => [...inventory.of(CARM_MAPS).namespacesOf(name)]);
  return maps.length > 0 || inventory.of(NAMESPACE_OWNERS).size > 0;
}

function progressText(namespaces: number): string {
  return `${countOf(namespaces, "namespace")} compared`;
}

function checkExtraGroups(groups: readonly string[]): void {
  const others = groups.filter((group) => !isACKGroup(group));
  if (others.length === 0) return;
  const message = `--extra-groups ${others.join(", ")}: expected an ACK API group, which ends in .services.k8s.aws`;
  throw new ResolverError("ERR_CONFIG_INVALID", message);
}

/** Runs the checks that a webhook with the same flags and --mode selectors would run on the generated selectors. */
function denialsOf({ selectors, input }: MigrationPlan, { inventory, origin }: State): Denial[] {
  const settings = { ...input.settings, mode: "selectors" } as const;
  return selectors.flatMap((object) => {
    const { findings } = runChecks({ object, old: null, requester: null, origin, inventory }, settings);
    const denied = findings.filter(({ severity }) => severity === "deny");
    return denied.map((finding) => ({ name: objectReference(object).name, finding }));
  });
}

/** Returns the result in the format of `-o json`. */
function migrationJSON(migration: ProvedMigration, denials: readonly Denial[]): object {
  const { selectors, proof: { resources, pairs, differences }, inexpressible, steps } = migration;
  const proof = { resources, pairs, differences };
  return { selectors, proof, inexpressible, refusals: denials.map(denialLine), steps };
}

/** Returns the lines of the report. Control characters from manifests are escaped. */
function reportLines(
  migration: ProvedMigration, { denials, gates }: { readonly denials: readonly Denial[]; readonly gates: string },
  paint: Paint,
): string[] {
  const { selectors, proof: { resources, pairs, differences }, inexpressible, steps } = migration;
  const compared = `${countOf(resources, "resource")} and ${countOf(pairs, "namespace and kind pair")}`;
  const verdict = differences.length === 0
    ? paint("green", `Proved: ${compared} resolve to the same role before and after.`)
    : paint("red", `The proof failed: of ${compared}, the following resolve to a different role after the migration:`);
  const itemLines = (text: string, fix: string): string[] => [
    printable(`  ${text}`), paint("dim", printable(`    fix: ${fix}`)),
  ];
  return [
    `${countOf(selectors.length, "IAMRoleSelector")}. ${verdict}`,
    ...differences.flatMap(({ message, fix }) => itemLines(message, fix)),
    gates,
    ...(denials.length === 0 ? [] : ["The webhook would deny these selectors:"]),
    ...denials.map((denial) => `  ${denialLine(denial)}`),
    ...(inexpressible.length === 0 ? [] : ["Selectors cannot express these cases:"]),
    ...inexpressible.flatMap(({ subject, reason, fix }) => itemLines(`${subject}: ${reason}`, fix)),
    "Migration steps, in this order:",
    ...steps.map((step, i) => `  ${i + 1}. ${step}`),
  ];
}

function denialLine({ name, finding }: Denial): string {
  return `IAMRoleSelector ${name}: ${findingLine(finding)}`;
}
