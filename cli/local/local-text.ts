import type { Inventory } from "../../shared/decisions/inventory.ts";
import { decisionSettings, type SettingsFor } from "../../shared/decisions/settings.ts";
import type { ManifestSource } from "../../shared/inventory/manifest-source.ts";
import { resolveAll } from "../resolve.ts";
import { faultySelectorLines, resolutionTable } from "../resolve-text.ts";
import type { LocalAddresses } from "./local.ts";
import { namedGroups } from "./served-groups.ts";

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
