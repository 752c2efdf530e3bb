import type { RoleTarget } from "../../shared/core/role-target.ts";
import { SELECTORS } from "../../shared/ack/selectors.ts";
import { SELECTOR_KIND } from "../../shared/core/ack-groups.ts";
import type { SettingsFor } from "../../shared/core/settings.ts";
import { LIMITS } from "../../shared/core/limits.ts";
import { ResolverError } from "../../shared/formats/errors.ts";
import { closest } from "../../shared/formats/nearest.ts";
import { printable } from "../../shared/formats/text.ts";
import type { RoleNamers } from "../../shared/trust/role-needs.ts";
import { TARGET_KINDS } from "../../shared/trust/trust-target.ts";
import { type IO, writeLines } from "../io.ts";
import { faultySelectorLines, faultySelectors } from "../input/faulty-objects.ts";
import { isUnreadable } from "../input/input-faults.ts";
import { readStates, type State } from "../input/state.ts";

/** The settings of commands that examine one selector or all. */
type TargetSettings = StateSettings & Pick<SettingsFor<"trust who">, "all">;
type StateSettings = Pick<
  SettingsFor<"trust who">,
  "ackSystemNamespace" | "from" | "cluster" | "kubeconfig" | "context" | "runtime" | "ignore" | "skipUnreadable"
>;

/** Returns the objects of manifests or of a cluster; null if the input is unreadable, after reporting its faults. */
export async function readTrustState(
  settings: StateSettings, io: IO,
  options: Parameters<typeof readStates>[2],
): Promise<State | null> {
  const all = {
    ...settings, mode: "selectors", allowEmpty: false, logLevel: "info", namespace: null, extraGroups: [],
    maxDocuments: String(LIMITS.manifestDocuments.value),
  } as const;
  const [state] = await readStates(all, io, options);
  // These commands have no flag that lists more.
  return isUnreadable(state.faults, { logLevel: "debug" }, io) ? null : state;
}

/**
 * Returns the object of the name, or with --all everything that names a role; null if the input is unreadable, after
 * reporting its faults. Throws if no such object exists. Selectors that controllers ignore are reported, and not
 * returned.
 */
export async function readNamers(
  name: string | null, settings: TargetSettings, io: IO, stdinCommand: string,
): Promise<RoleNamers | null> {
  const state = await readTrustState(settings, io, { stdinCommand });
  if (state === null) return null;
  const { inventory, origin } = state;
  const selectors = inventory.of(SELECTORS);
  const own = name?.replace(`${SELECTOR_KIND}/`, "") ?? null;
  const faulty = faultySelectors(inventory, origin).filter((one) => own === null || one.name === own);
  writeLines(io.stderr, faultySelectorLines(faulty));
  const { targets, omitted } = inventory.roleTargets(settings);
  const others = targets.filter(({ kind }) => kind !== "selector");
  if (own === null) {
    // The faulty selectors are already reported.
    const notes = omitted.filter((text) => !text.startsWith(SELECTOR_KIND));
    writeLines(io.stderr, notes.map((text) => printable(`note: ${text}`)));
    return { selectors: [...selectors.values()], others };
  }
  const found = selectors.get(own);
  if (found !== undefined) return { selectors: [found], others: [] };
  const other = others.find((one) => titleOf(one) === name);
  if (other !== undefined) return { selectors: [], others: [other] };
  if (faulty.length > 0) return null;
  throw unknownName(own, [...selectors.keys(), ...others.map(titleOf)], omitted);
}

/** Returns the name by which a user states an object that is no selector. */
function titleOf({ kind, name }: RoleTarget): string {
  return `${TARGET_KINDS[kind]}/${name}`;
}

function unknownName(name: string, known: readonly string[], omitted: readonly string[]): ResolverError {
  const reason = omitted.find((text) => text.startsWith(`${name.replace("/", ' "')}" `));
  const guess = known.find((one) => one.endsWith(`/${name}`)) ?? closest(name, known);
  const hint = guess === null ? "" : `; did you mean ${guess}?`;
  const text = name.includes("/") ? `${name} does not exist` : `${SELECTOR_KIND} ${name} does not exist`;
  return new ResolverError("ERR_CONFIG_INVALID", printable(reason ?? `${text}${hint}`));
}

/** Throws unless either a target or --all is given. `--from` or `--cluster` is required for what is not an ARN. */
export function checkTarget(target: string | null, { all, from, cluster }: TargetSettings, what: string): void {
  const fault = all === (target !== null) ? `pass either ${what} or --all`
    : from.length === 0 && !cluster && target !== null && !target.startsWith("arn:")
      ? `${target} is the name of a selector: pass --from or --cluster to read it` : null;
  if (fault !== null) throw new ResolverError("ERR_CONFIG_INVALID", printable(fault));
}
