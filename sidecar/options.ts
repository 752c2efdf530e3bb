import { decisionSettings } from "../shared/decisions/context.ts";
import { ResolverError } from "../shared/decisions/errors.ts";
import type { NamespaceQuery, RoleQuery } from "../shared/decisions/grants/grant.ts";
import { ACK_GROUPS } from "../shared/decisions/kubernetes/ack-groups.ts";
import { type KindArgument, parseKindArgument } from "../shared/decisions/kubernetes/kinds.ts";
import { closest } from "../shared/decisions/kubernetes/text.ts";
import type { SettingsFor } from "../shared/decisions/settings.ts";
import { isLoopbackHost, type ListenAddress, parseListenAddress } from "../shared/server/listen-address.ts";
import { refuseOwnAddress } from "./base/provider.ts";
import { readSTSEndpoint } from "./sts-upstream/endpoint.ts";

/** The settings that say where the sidecar stands and what it does; where its inventory comes from is the caller's. */
export type SidecarSettings = Pick<
  SettingsFor<"sidecar">,
  | "group" | "kind" | "scopeNamespace" | "unmatched" | "base" | "sessionName" | "stsEndpoint"
  | "listen" | "healthListen" | "token" | "tokenFile" | "stateDir" | "maxStaleness"
> & Parameters<typeof decisionSettings>[0];

/** What the sidecar answers for, to whoever asks: its controller's groups and kinds, in its scope. */
export type SidecarOptions = RoleQuery & Pick<NamespaceQuery, "unmatched">;

/**
 * Looks at everything that can be told of the settings before anything is read, made or listens. Throws what is wrong: of one fault its
 * ERR_CONFIG_* code, of several ERR_CONFIG_INVALID that lists them, a line each.
 */
export function checkSidecarSettings(settings: SidecarSettings, environment: Readonly<Record<string, string | undefined>>): void {
  const { stsEndpoint: endpoint, region } = settings;
  const faults = [
    () => sidecarOptions(settings),
    () => refuseOwnAddress({ environment, stsEndpoint: endpoint }, loopbackAddress(settings.listen)),
    () => parseListenAddress(settings.healthListen, "--health-listen"),
    () => readSTSEndpoint({ endpoint, region }),
  ].flatMap(faultOf);
  const [first] = faults;
  if (first === undefined) return;
  throw faults.length === 1 ? first : new ResolverError("ERR_CONFIG_INVALID", faults.map(({ message }) => message).join("\n"));
}

function faultOf(look: () => unknown): ResolverError[] {
  try {
    look();
    return [];
  } catch (error) {
    if (error instanceof ResolverError) return [error];
    throw error;
  }
}

/** Throws ERR_CONFIG_INVALID naming every --kind that is none, or of none of the groups. */
export function sidecarOptions(settings: SidecarSettings): SidecarOptions {
  const { group, kind, scopeNamespace: scope, unmatched } = settings;
  const faults: string[] = [];
  const kinds = kind.flatMap((text): KindArgument[] => {
    const read = parseKindArgument(text);
    if (read === null) faults.push(`--kind: ${JSON.stringify(text)} is not KIND, KIND.GROUP or KIND.VERSION.GROUP, such as Bucket.s3.services.k8s.aws`);
    else if (read.group !== null && !group.includes(read.group)) faults.push(`--kind: ${text} is of no --group (${group.join(", ")})`);
    return read === null ? [] : [read];
  });
  if (faults.length > 0) throw new ResolverError("ERR_CONFIG_INVALID", faults.join("\n"));
  return { groups: group, kinds, scope, settings: decisionSettings(settings), unmatched: unmatched ?? (scope === null ? "base" : "deny") };
}

/** Groups that no controller of this release's list serves, each with the one that was probably meant. */
export function unknownGroups(groups: readonly string[]): { readonly group: string; readonly meant: string | null }[] {
  const byService = new Map(ACK_GROUPS.map((group) => [serviceOf(group), group]));
  return groups.filter((group) => !ACK_GROUPS.includes(group)).map((group) => ({ group, meant: byService.get(closest(serviceOf(group), byService.keys()) ?? "") ?? null }));
}

/** Without what they all end in, which would make any two look alike. */
function serviceOf(group: string): string {
  return group.split(".")[0] ?? group;
}

/** Throws ERR_CONFIG_ADDRESS for what is no address, or not of this machine alone. */
export function loopbackAddress(listen: string): ListenAddress {
  const address = parseListenAddress(listen, "--listen");
  // One address, since fastify makes a server of its own for each that a name has, and limits and ends the first alone. A client tries all.
  if (address.host.toLowerCase() === "localhost") return { ...address, host: "127.0.0.1" };
  if (isLoopbackHost(address.host)) return address;
  throw new ResolverError(
    "ERR_CONFIG_ADDRESS",
    `--listen ${listen}: the sidecar hands out credentials and listens on loopback alone; give 127.0.0.1:PORT, [::1]:PORT or localhost:PORT`,
  );
}
