import { type Closures, closuresOf } from "../core/closures.ts";
import { SETTINGS } from "../core/settings.ts";
import { environmentOf } from "./controller-arguments.ts";
import type { Container } from "../core/pod.ts";
import { sidecarFlags } from "./sidecar-session.ts";

/** The values that close nothing, for what is unknown. */
const OPEN = { profile: "enforce", base: "vend", unmatched: "base" } as const;

/**
 * Returns what a sidecar closes by its flags and variables. Returns null if it follows the profile of the installation,
 * and so closes whatever the installation closes. The ConfigMap of a namespace that is not in `installed` is not that
 * profile; null if the namespaces of the installation are unknown.
 */
export function sidecarClosures(sidecar: Container, installed: readonly string[] | null): Closures | null {
  const flags = sidecarFlags(sidecar);
  // The container starts another program, such as a shell, or an argument is unknown.
  if (flags === null) return closuresOf(OPEN);
  const environment = environmentOf(sidecar);
  const valueOf = (name: "profileNamespace" | keyof typeof OPEN): string | null | undefined => {
    const flag = SETTINGS[name].flag.slice(2);
    const variable = `ACK_ROLE_RESOLVER_${flag.toUpperCase().replaceAll("-", "_")}`;
    return flags.has(flag) ? flags.get(flag) : environment.get(variable);
  };
  const followed = valueOf("profileNamespace");
  const isInstalled = installed === null || installed.some((namespace) => namespace === followed);
  if (followed !== undefined && isInstalled) return null;
  const known = (name: keyof typeof OPEN): string | undefined => {
    const value = valueOf(name);
    return value === null ? OPEN[name] : value;
  };
  return closuresOf({
    profile: known("profile") ?? SETTINGS.profile.default, base: known("base"), unmatched: known("unmatched"),
  });
}
