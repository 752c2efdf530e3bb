import { DEFINITIONS, SETTINGS } from "../../shared/core/settings.ts";
import { INJECTED_FLAGS } from "../../shared/core/sidecar-container.ts";
import { flagOf, injectionSettings } from "../../shared/core/sidecar-settings.ts";
import { ResolverError } from "../../shared/formats/errors.ts";
import { quote } from "../../shared/formats/text.ts";
import { type Flags, readSettings } from "../../shared/server/read-settings.ts";

const { from, kubeconfig, context, listen, healthListen } = SETTINGS;
/** Flags on which the injected container or the variables of the controller depend. */
const RESERVED: ReadonlySet<string> = new Set([
  ...Object.values(INJECTED_FLAGS), ...[from, kubeconfig, context, listen, healthListen].map(({ flag }) => flag),
]);

/**
 * Checks that a sidecar accepts its arguments, of which `--sidecar-args` sets most, so that a mistake does not stop
 * every controller that starts later. Throws ERR_CONFIG_INVALID, whose message has one line for each fault.
 */
export function checkSidecarArgs(args: readonly string[]): void {
  const flags: Record<string, string | boolean | readonly string[]> = {
    cluster: true, group: ["s3.services.k8s.aws"], region: "us-east-1", tokenFile: "token",
  };
  const faults: string[] = [];
  for (const arg of args) {
    const fault = addFlag(flags, arg);
    if (fault !== null) faults.push(`--sidecar-args ${quote(arg)}: ${fault}`);
  }
  faults.push(...faultsOf(flags));
  if (faults.length > 0) throw new ResolverError("ERR_CONFIG_INVALID", faults.join("\n"));
}

/** Checks the arguments of the sidecars that the webhook injects with these settings. */
export function checkInjection(settings: Parameters<typeof injectionSettings>[0]): void {
  checkSidecarArgs(injectionSettings(settings).args);
}

/** Adds the flag of an argument. Returns the fault of the argument, or null. */
function addFlag(flags: Record<string, Flags[string]>, arg: string): string | null {
  const flag = flagOf(arg);
  const [name, definition] = DEFINITIONS.find(([, one]) => one.flag === flag && one.commands.includes("sidecar")) ?? [];
  if (name === undefined || definition === undefined) return "the sidecar has no such flag";
  if (RESERVED.has(flag)) return "the webhook sets this flag";
  const hasValue = arg.length > flag.length;
  if ((definition.type === "boolean") === hasValue) {
    return hasValue ? "the flag has no value" : `expected a value: ${flag}=VALUE`;
  }
  const value = arg.slice(flag.length + 1);
  const values = definition.type === "strings" ? [flags[name] ?? [], value].flat().map(String) : value;
  flags[name] = hasValue ? values : true;
  return null;
}

function faultsOf(flags: Flags): string[] {
  try {
    readSettings("sidecar", flags, {});
    return [];
  } catch (error) {
    if (error instanceof ResolverError) return error.message.split("\n").map((line) => `--sidecar-args: ${line}`);
    throw error;
  }
}
