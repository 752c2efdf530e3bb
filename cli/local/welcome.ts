import { decisionSettings } from "../../shared/decisions/context.ts";
import type { Inventory } from "../../shared/decisions/inventory/inventory.ts";
import { isACKGroup } from "../../shared/decisions/kubernetes/kinds.ts";
import { objectMeta } from "../../shared/decisions/kubernetes/object-meta.ts";
import { compareText } from "../../shared/decisions/kubernetes/text.ts";
import type { SettingsFor } from "../../shared/decisions/settings.ts";
import type { ManifestSource } from "../../shared/inventory/manifests/source.ts";
import type { RunningSidecar } from "../../sidecar/main.ts";
import type { RunningWebhook } from "../../webhook/main.ts";
import { faultySelectorLines, resolutionTable, resolveAll } from "../resolve.ts";
import type { STSEmulator } from "./sts-emulator/emulator.ts";

type Input = Pick<ManifestSource, "manifests" | "inventory">;

/** One of ACK's, where selectors alone are there that hold for every group. */
const ANY_GROUP = "s3.services.k8s.aws";

/** The groups that the sidecar of local mode grants for: those that the input names, or one where it names none. Sorted. */
export function servedGroups(input: Input): readonly string[] {
  const named = namedGroups(input);
  return named.length === 0 ? [ANY_GROUP] : named;
}

/** The ACK groups of resources and selectors, sorted. */
export function namedGroups({ manifests, inventory }: Input): readonly string[] {
  const groups = new Set(manifests.map(({ object }) => objectMeta(object).group).filter(isACKGroup));
  for (const { types } of inventory.selectors.values()) for (const { group } of types ?? []) if (isACKGroup(group)) groups.add(group);
  return [...groups].toSorted(compareText);
}

type Settings = SettingsFor<"local">;

/** What a newcomer sees first: who gets which role, where everything listens, what to export and what to try. */
export function welcomeLines(addresses: LocalAddresses, source: ManifestSource, settings: Settings): string[] {
  const { webhook, sidecar, sts, caFile, tokenFile } = addresses;
  const from = settings.from.join(" ");
  const region = settings.region ?? "eu-west-1";
  const role = `http://${sidecar.address}/v1/credentials/${examplePath(source.inventory, settings)}`;
  const mode = settings.mode === "carm" ? " --mode carm" : "";
  return [
    ...rolesLines(source, settings),
    "Listening, on this machine alone:",
    `  webhook  https://${webhook.address}  (CA: ${caFile}; health and metrics: http://${webhook.healthAddress})`,
    `  sidecar  http://${sidecar.address}  (token: ${tokenFile}; health and metrics: http://${sidecar.healthAddress})`,
    `  STS      ${sts.url}  (an emulator: no AWS account is touched)`,
    "",
    "For an AWS SDK to be one of those roles:",
    `  export AWS_CONTAINER_CREDENTIALS_FULL_URI=${role}`,
    `  export AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE=${tokenFile}`,
    // botocore, and with it the AWS CLI before version 2, reads the region from AWS_DEFAULT_REGION alone.
    `  export AWS_ENDPOINT_URL_STS=${sts.url} AWS_REGION=${region} AWS_DEFAULT_REGION=${region}`,
    "To be a controller instead, which assumes those roles itself, of the sidecar in STS's place:",
    `  export AWS_CONTAINER_CREDENTIALS_FULL_URI=http://${sidecar.address}/v1/credentials AWS_ENDPOINT_URL_STS=http://${sidecar.address}/sts`,
    "SDKs prefer AWS_ACCESS_KEY_ID, AWS_PROFILE and ~/.aws/credentials to both: see that there are none.",
    "",
    "Try, in another terminal:",
    `  curl -H "Authorization: $(cat ${tokenFile})" ${role}`,
    `  npx ack-role-resolver lint ${from}${mode}`,
    `  npx ack-role-resolver resolve ${from}${mode} -o json`,
    "",
    `Change a file under ${from} and the roles are printed anew. Ctrl-C stops.`,
  ];
}

/** Who gets which role now, and which selectors do not count. */
export function rolesLines(source: ManifestSource, settings: Settings): string[] {
  const objects = source.manifests.map(({ object }) => object);
  const resolved = resolveAll(objects, source.inventory, decisionSettings(settings), "default");
  const { fault } = source.status;
  return [
    "Roles:",
    ...resolutionTable(resolved, (_style, text) => text),
    "",
    ...faultySelectorLines(source.inventory),
    ...(fault === null ? [] : [`The manifests have turned bad; the last good ones stay in force: ${fault}`]),
    "",
  ];
}

/** Nothing where the sidecar grants for each group that the input names. */
export function laterGroupLines(source: ManifestSource, served: readonly string[]): string[] {
  const later = namedGroups(source).filter((group) => !served.includes(group));
  return later.length === 0 ? [] : [`The sidecar grants for the groups that were there at its start; start anew for ${later.join(", ")}.`, ""];
}

/** The maps of CARM give a role to a namespace, and selectors have one each. */
function examplePath({ selectors, namespacesOfCARM }: Inventory, { mode }: Settings): string {
  if (mode === "carm") return `namespaces/${[...namespacesOfCARM].toSorted()[0] ?? "NAMESPACE"}`;
  const [name] = [...selectors.values()].filter(({ grantable }) => grantable).map((selector) => selector.name).toSorted();
  return `selectors/${name ?? "NAME"}`;
}

/** Where everything listens, and the files that clients need. */
export interface LocalAddresses {
  readonly webhook: RunningWebhook;
  readonly sidecar: RunningSidecar;
  readonly sts: STSEmulator;
  readonly tokenFile: string;
  readonly caFile: string;
}
