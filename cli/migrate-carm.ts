import { renderYAML } from "../manifests/render.ts";
import { type Finding, findingLine } from "../shared/decisions/checks/finding.ts";
import { runChecks } from "../shared/decisions/checks/run.ts";
import { decisionSettings } from "../shared/decisions/context.ts";
import { ResolverError } from "../shared/decisions/errors.ts";
import { accountOfARN } from "../shared/decisions/kubernetes/arn.ts";
import { isACKGroup } from "../shared/decisions/kubernetes/kinds.ts";
import { objectMeta } from "../shared/decisions/kubernetes/object-meta.ts";
import { printable } from "../shared/decisions/kubernetes/text.ts";
import {
  type MigrationPlan, planMigration, type ProvedMigration, proveMigration,
} from "../shared/decisions/migration/plan.ts";
import type { SettingsFor } from "../shared/decisions/settings.ts";
import { EXIT, type ExitStatus, type IO, writeLines } from "./io.ts";
import { isUnreadable, readState, type State } from "./state.ts";
import { type Paint, painter, Progress } from "./terminal.ts";

/** A fault that the webhook would refuse a generated selector for. */
interface Refusal {
  readonly name: string;
  readonly finding: Finding;
}

/** Prints the selectors as manifests; the proof, what cannot be expressed and the order of the switch stand beside them on stderr. */
export async function runMigrateCARM(settings: SettingsFor<"migrate carm">, io: IO): Promise<ExitStatus> {
  const strangers = settings.extraGroups.filter((group) => !isACKGroup(group));
  if (strangers.length > 0) throw new ResolverError("ERR_CONFIG_INVALID", `--extra-groups ${strangers.join(", ")}: expected ACK groups, which end in .services.k8s.aws`);
  const state = await readState({ ...settings, mode: "carm" }, io);
  if (isUnreadable(state.faults, io)) return EXIT.usage;
  const controllerAccount = settings.controllerAccount ?? accountOfARN(settings.controllerRole ?? "");
  const plan = planMigration(state.inventory, decisionSettings({ ...settings, mode: "carm", controllerAccount }), settings.extraGroups);
  state.inventory.apply(plan.changes);
  const migration = prove(plan, io);
  const refusals = refusalsOf(plan, state);
  if (settings.output === "json") io.stdout.write(`${JSON.stringify(shown(migration, refusals), null, 2)}\n`);
  else {
    io.stdout.write(renderYAML(migration.selectors));
    writeLines(io.stderr, report(migration, refusals, painter(io.stderr, io.environment)));
  }
  return migration.proof.differences.length === 0 && refusals.length === 0 ? EXIT.fine : EXIT.findings;
}

/** Telling how far it is. */
function prove(plan: MigrationPlan, io: IO): ProvedMigration {
  const progress = new Progress(io.stderr);
  const steps = proveMigration(plan);
  for (let compared = 0; ; compared++) {
    const { done, value } = steps.next();
    if (done === true) {
      progress.end();
      return value;
    }
    progress.tell(`${compared} namespaces compared`);
  }
}

/** By every check, as the webhook would with these flags once selectors decide. */
function refusalsOf({ selectors, input }: MigrationPlan, { inventory, origin }: State): Refusal[] {
  const settings = { ...input.settings, mode: "selectors" } as const;
  return selectors.flatMap((object) => runChecks({ object, old: null, requester: null, origin, inventory }, settings).findings
    .filter(({ severity }) => severity === "deny")
    .map((finding) => ({ name: objectMeta(object).name, finding })));
}

/** The shape of `-o json`. */
function shown({ selectors, proof: { resources, pairs, differences }, inexpressible, steps }: ProvedMigration, refusals: readonly Refusal[]): object {
  return { selectors, proof: { resources, pairs, differences }, inexpressible, refusals: refusals.map(refusalLine), steps };
}

/** Names come from manifests, which may hold any text. */
function report({ selectors, proof, inexpressible, steps }: ProvedMigration, refusals: readonly Refusal[], paint: Paint): string[] {
  const { resources, pairs, differences } = proof;
  const compared = `${count(resources, "resource")} and ${count(pairs, "pair")} of a namespace and a kind`;
  return [
    `${count(selectors.length, "IAMRoleSelector")}. ${differences.length === 0
      ? paint("green", `Proved: ${compared} resolve to the same role before and after.`)
      : paint("red", `Not proved: of ${compared} not all resolve to the same role before and after:`)}`,
    ...differences.flatMap(({ message, fix }) => [printable(`  ${message}`), paint("dim", printable(`    fix: ${fix}`))]),
    ...(refusals.length === 0 ? [] : ["The webhook would refuse:", ...refusals.map((one) => `  ${refusalLine(one)}`)]),
    ...(inexpressible.length === 0 ? [] : ["Not expressed by selectors:"]),
    ...inexpressible.flatMap(({ subject, reason, fix }) => [printable(`  ${subject}: ${reason}`), paint("dim", printable(`    fix: ${fix}`))]),
    "The switch, in this order:",
    ...steps.map((step, i) => `  ${i + 1}. ${step}`),
  ];
}

function refusalLine({ name, finding }: Refusal): string {
  return `IAMRoleSelector ${name}: ${findingLine(finding)}`;
}

function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? "" : "s"}`;
}
