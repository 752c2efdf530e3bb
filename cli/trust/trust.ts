import type { RoleTarget, RoleTargets } from "../../shared/core/role-target.ts";
import { systemClock } from "../../shared/core/clock.ts";
import { SELECTOR_KIND } from "../../shared/core/ack-groups.ts";
import type { SettingsFor } from "../../shared/core/settings.ts";
import { countOf, printable, quote } from "../../shared/formats/text.ts";
import type { IAMData } from "../../shared/trust/iam-data.ts";
import { ownRoleRow } from "../../shared/trust/own-role.ts";
import type { Answer } from "../../shared/trust/three-values.ts";
import { TrustCallers } from "../../shared/trust/trust-rows.ts";
import { unassumedNotes } from "../../shared/trust/trust-target.ts";
import { sortedRoles } from "../../shared/trust/who-else.ts";
import { faultySelectorLines, faultySelectors } from "../input/faulty-objects.ts";
import { checkExports, readIAMFiles } from "./iam-files.ts";
import type { State } from "../input/state.ts";
import { trustCallers } from "./trust-callers.ts";
import { asking } from "./asking.ts";
import { readTrustState } from "./role-namers.ts";
import { EXIT, type ExitStatus, type IO, writeJSON, writeLines } from "../io.ts";
import { type PrintedRow, trustRowJSON, trustRowLines } from "./trust-table.ts";

type Settings = SettingsFor<"trust">;

const NO_CONTROLLERS = { controllers: [], unread: null };

/** Prints whether each caller can assume each role that the objects name. Without objects, each role of the exports. */
export async function runTrust(settings: Settings, io: IO, clock = systemClock): Promise<ExitStatus> {
  const options = { stdinCommand: "trust --from -", readsControllers: true };
  const state = hasObjects(settings) ? await readTrustState(settings, io, options) : null;
  if (state === null && hasObjects(settings)) return EXIT.usage;
  const { callers, owners, notes, areComplete } = trustCallers(settings, state?.controllers ?? NO_CONTROLLERS);
  const data = await readIAMFiles(settings.iam, settings.aws);
  const nowSeconds = Math.floor(clock.now() / 1000);
  const asked = asking(() => new TrustCallers({ callers, data, nowSeconds }));
  const { targets, lines, ...roles } = state === null ? rolesOf(data) : rolesIn(state, settings);
  const unmanaged = targets.filter((target) => asked.lacksController(target)).map(unmanagedNote);
  const omitted = [...roles.omitted, ...unmanaged];
  const unassumed = unassumedNotes(targets, callers.map(({ via }) => via));
  writeLines(io.stderr, [...lines, ...[...notes, ...omitted, ...unassumed].map((note) => printable(`note: ${note}`))]);
  const own = owners.map((owner) => ownRoleRow(owner, data, nowSeconds));
  const rows = [...own, ...targets.flatMap((target) => asked.rowsOf(target))];
  print(rows, settings, io);
  return areComplete && isFine(rows, omitted) ? EXIT.fine : EXIT.findings;
}

function hasObjects({ from, cluster }: Settings): boolean {
  return from.length > 0 || cluster;
}

function isFine(rows: readonly PrintedRow[], omitted: readonly string[]): boolean {
  return omitted.length === 0 && rows.every(({ decision }) => decision.verdict === "yes");
}

interface Roles extends RoleTargets {
  /** The faults of selectors, which controllers ignore. */
  readonly lines: readonly string[];
}

/** Returns the roles of the exports. A role without a known name cannot be asked about. */
function rolesOf(data: IAMData): Roles {
  checkExports(data);
  const omitted = Array.from(data.unnamed, ([address, { file }]) => (
    `${address} of ${file} is not examined: its name is not known yet`
  ));
  const targets = sortedRoles(data.roles()).map((roleARN): RoleTarget => ({ kind: "role", name: roleARN, roleARN }));
  return { targets, omitted, lines: [] };
}

function rolesIn({ inventory, origin }: State, { ackSystemNamespace }: Settings): Roles {
  const lines = faultySelectorLines(faultySelectors(inventory, origin));
  return { ...inventory.roleTargets({ ackSystemNamespace }), lines };
}

function unmanagedNote({ name }: RoleTarget): string {
  return `${SELECTOR_KIND} ${quote(name)} is not examined: no known controller manages what it selects; pass --caller`;
}

function print(rows: readonly PrintedRow[], { output }: Settings, io: IO): void {
  if (output === "json") writeJSON(io, rows.map(trustRowJSON));
  else writeLines(io.stdout, trustRowLines(rows, io));
  writeLines(io.stderr, [summary(rows)]);
}

function summary(rows: readonly PrintedRow[]): string {
  const count = (verdict: Answer): number => rows.filter(({ decision }) => decision.verdict === verdict).length;
  return `${countOf(rows.length, "answer")}: ${count("yes")} yes, ${count("no")} no, ${count("unknown")} unknown`;
}
