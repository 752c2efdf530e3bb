import { decisionSettings } from "../shared/core/context.ts";
import { ResolverError } from "../shared/formats/errors.ts";
import { readSessionDefaults } from "../shared/core/session-defaults.ts";
import type { NamespaceQuery, RoleQuery } from "../shared/core/grant.ts";
import type { Endpoint } from "../shared/core/inventory.ts";
import { ACK_GROUPS, closestGroup, type KindArgument, parseKindArgument } from "../shared/core/ack-groups.ts";
import type { SettingsFor } from "../shared/core/settings.ts";
import { isLoopbackHost, type ListenAddress, parseListenAddress } from "../shared/server/listen-address.ts";
import { rejectOwnAddress } from "./base/provider.ts";
import { readSTSEndpoint } from "./sts-upstream/connection.ts";

export type SidecarSettings = SettingsFor<"sidecar">;

/**
 * The options of grant decisions that are equal for all requests, such as the API groups and kinds of the controller.
 */
export type SidecarOptions = RoleQuery & Pick<NamespaceQuery, "unmatched">;

/**
 * Checks all settings before the sidecar opens files or listens on a port. If one setting is invalid, throws its
 * ERR_CONFIG_* error. If several settings are invalid, throws one ERR_CONFIG_INVALID that lists one fault per line.
 */
export function checkSidecarSettings(
  settings: SidecarSettings,
  environment: Readonly<Record<string, string | undefined>>,
): void {
  const { stsEndpoint: endpoint, region } = settings;
  const faults = [
    () => sidecarOptions(settings),
    () => rejectOwnAddress({ environment, stsEndpoint: endpoint }, loopbackAddress(settings.listen)),
    () => parseListenAddress(settings.healthListen, "--health-listen"),
    () => readSTSEndpoint({ endpoint, region }),
  ].flatMap(faultOf);
  const [first] = faults;
  if (first === undefined) return;
  if (faults.length === 1) throw first;
  throw new ResolverError("ERR_CONFIG_INVALID", faults.map(({ message }) => message).join("\n"));
}

function faultOf(check: () => unknown): ResolverError[] {
  try {
    check();
    return [];
  } catch (error) {
    if (error instanceof ResolverError) return [error];
    throw error;
  }
}

/**
 * Throws ERR_CONFIG_INVALID if a --kind is malformed or its group is not a --group. The error lists every such --kind.
 */
export function sidecarOptions(settings: SidecarSettings): SidecarOptions {
  const { group, kind, scopeNamespace: scope } = settings;
  const faults: string[] = [];
  const kinds = kind.flatMap((text): KindArgument[] => {
    const parsed = parseKindArgument(text);
    if (parsed === null) faults.push(`--kind: ${JSON.stringify(text)} is not ${KIND_FORMAT}`);
    else if (parsed.group !== null && !group.includes(parsed.group)) {
      faults.push(`--kind: ${text} is not in any --group (${group.join(", ")})`);
    }
    return parsed === null ? [] : [parsed];
  });
  if (faults.length > 0) throw new ResolverError("ERR_CONFIG_INVALID", faults.join("\n"));
  const unmatched = settings.unmatched ?? (scope === null ? "base" : "deny");
  return {
    groups: group, kinds, scope, settings: decisionSettings(settings), sessionDefaults: readSessionDefaults(settings),
    unmatched,
  };
}

const KIND_FORMAT = "KIND, KIND.GROUP or KIND.VERSION.GROUP, such as Bucket.s3.services.k8s.aws";

/** Returns each group that no known controller and no endpoint serves, and the ACK group whose name is most similar. */
export function unknownGroups(
  groups: readonly string[], endpoints: readonly Endpoint[],
): { readonly group: string; readonly suggestion: string | null }[] {
  return groups
    .filter((group) => !ACK_GROUPS.includes(group) && endpoints.every((endpoint) => endpoint.group !== group))
    .map((group) => ({ group, suggestion: closestGroup(group, ACK_GROUPS) }));
}

/** Parses `listen`. Throws ERR_CONFIG_ADDRESS if `listen` is not a loopback address. */
export function loopbackAddress(listen: string): ListenAddress {
  const address = parseListenAddress(listen, "--listen");
  // Replaces localhost by one address: fastify creates a server for each address of a name, but applies limits and
  // shutdown only to the first server.
  if (address.host.toLowerCase() === "localhost") return { ...address, host: "127.0.0.1" };
  if (isLoopbackHost(address.host)) return address;
  const fix = "use 127.0.0.1:PORT, [::1]:PORT or localhost:PORT";
  const message = `--listen ${listen}: the sidecar issues credentials and listens only on loopback; ${fix}`;
  throw new ResolverError("ERR_CONFIG_ADDRESS", message);
}
