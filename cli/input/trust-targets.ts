import type { SettingsFor } from "../../shared/contract/settings.ts";
import { LIMITS } from "../../shared/contract/limits.ts";
import { ResolverError } from "../../shared/formats/errors.ts";
import { closest, printable } from "../../shared/formats/text.ts";
import type { EffectiveSelector } from "../../shared/model/effective-selector.ts";
import { type IO, writeLines } from "../io.ts";
import { faultySelectorLines, faultySelectors } from "./faulty-objects.ts";
import { isUnreadable, readStates, type State } from "./state.ts";

/** The settings of commands that examine one selector or all. */
type TargetSettings = StateSettings & Pick<SettingsFor<"trust who">, "all">;
type StateSettings = Pick<
  SettingsFor<"trust who">, "from" | "cluster" | "kubeconfig" | "context" | "runtime" | "ignore" | "skipUnreadable"
>;

/** Returns the objects of manifests or of a cluster; null if the input is unreadable, after reporting its faults. */
export async function readTrustState(
  settings: StateSettings & Pick<SettingsFor<"trust">, "ackSystemNamespace">, io: IO,
  options: Parameters<typeof readStates>[2],
): Promise<State | null> {
  const all = {
    ...settings, mode: "selectors", allowEmpty: false, logLevel: "info", namespace: null, extraGroups: [],
    maxDocuments: String(LIMITS.manifestDocuments.value),
  } as const;
  const [state] = await readStates(all, io, options);
  return isUnreadable(state.faults, io) ? null : state;
}

/**
 * Returns the selector of the name, or with --all every selector; null if the input is unreadable, after reporting its
 * faults. Throws if no such selector exists. Selectors that controllers ignore are reported, and not returned.
 */
export async function readSelectors(
  name: string | null, settings: TargetSettings, io: IO, stdinCommand: string,
): Promise<readonly EffectiveSelector[] | null> {
  const state = await readTrustState({ ...settings, ackSystemNamespace: "ack-system" }, io, { stdinCommand });
  if (state === null) return null;
  const { inventory, origin, inventory: { selectors } } = state;
  const faulty = faultySelectors(inventory, origin).filter((one) => name === null || one.name === name);
  writeLines(io.stderr, faultySelectorLines(faulty));
  if (name === null) return [...selectors.values()];
  const found = selectors.get(name);
  if (found !== undefined) return [found];
  if (faulty.length > 0) return null;
  const guess = closest(name, selectors.keys());
  const hint = guess === null ? "" : `; did you mean ${guess}?`;
  throw new ResolverError("ERR_CONFIG_INVALID", printable(`IAMRoleSelector ${name} does not exist${hint}`));
}

/** Throws unless either a target or --all is given. `--from` or `--cluster` is required for what is not an ARN. */
export function checkTarget(target: string | null, { all, from, cluster }: TargetSettings, what: string): void {
  const fault = all === (target !== null) ? `pass either ${what} or --all`
    : from.length === 0 && !cluster && target !== null && !target.startsWith("arn:")
      ? `${target} is the name of a selector: pass --from or --cluster to read it` : null;
  if (fault !== null) throw new ResolverError("ERR_CONFIG_INVALID", printable(fault));
}
