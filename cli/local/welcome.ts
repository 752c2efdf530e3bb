import { SELECTORS } from "../../shared/ack/selectors.ts";
import { decisionSettings } from "../../shared/core/context.ts";
import { isACKGroup } from "../../shared/core/ack-groups.ts";
import { objectReference } from "../../shared/formats/object-meta.ts";
import { compareText } from "../../shared/formats/text.ts";
import type { SettingsFor } from "../../shared/core/settings.ts";
import type { PageServer } from "../../shared/server/page-server.ts";
import type { ManifestSource } from "../../shared/sources/file-source.ts";
import type { RunningSidecar } from "../../sidecar/main.ts";
import type { RunningWebhook } from "../../webhook/main.ts";
import type { ExamplePath, LocalServer } from "../feature.ts";
import { FEATURES } from "../features.ts";
import { faultySelectorLines, faultySelectors } from "../input/faulty-objects.ts";
import { resolutionTable, type TableFormat } from "../output/resolution-table.ts";
import { resolveAll } from "../resolve.ts";
import type { STSEmulator } from "./sts-emulator/emulator.ts";

type Input = Pick<ManifestSource, "manifests" | "inventory">;
type Settings = SettingsFor<"local">;

/** The running servers, and the paths of the files that clients need. */
export interface LocalAddresses {
  readonly webhook: RunningWebhook;
  readonly sidecar: RunningSidecar;
  readonly sts: STSEmulator;
  /** The pages of features. */
  readonly pages: readonly (LocalServer & { readonly server: PageServer })[];
  readonly tokenFile: string;
  readonly caFile: string;
}

/** The API group of the controller that the sidecar serves if the manifests contain no ACK group. */
const FALLBACK_GROUP = "s3.services.k8s.aws";

/**
 * Returns the API groups of the controllers that the sidecar serves: all ACK groups in the manifests, and that of CAPA
 * if they contain its identities; the fallback group if there are none.
 */
export function servedGroups(input: Input): readonly string[] {
  const named = namedGroups(input);
  return named.length === 0 ? [FALLBACK_GROUP] : named;
}

/** Returns the API groups of the resources, selectors and identities in the manifests, sorted. */
function namedGroups({ manifests, inventory }: Input): readonly string[] {
  const ofResources = manifests.map(({ object }) => objectReference(object).group);
  const ofSelectors = [...inventory.of(SELECTORS).values()].flatMap(({ types }) => [...(types?.groups ?? [])]);
  const ofFeatures = FEATURES.flatMap(({ servedGroups: ofFeature }) => ofFeature?.(inventory) ?? []);
  const groups = new Set([...[...ofResources, ...ofSelectors].filter(isACKGroup), ...ofFeatures]);
  return [...groups].toSorted(compareText);
}

/** Returns the lines that local mode prints at its start, after the roles: addresses, and commands to try. */
export function welcomeLines(addresses: LocalAddresses, source: ManifestSource, settings: Settings): string[] {
  const { webhook, sidecar, sts, pages, caFile, tokenFile } = addresses;
  const from = settings.from.join(" ");
  const region = settings.region ?? "eu-west-1";
  const credentials = `http://${sidecar.address}/v1/credentials`;
  const role = `${credentials}/${examplePath(source, settings)}`;
  // Some shells expand a question mark.
  const quoted = role.includes("?") ? `'${role}'` : role;
  const mode = settings.mode === "selectors" ? "" : ` --mode ${settings.mode}`;
  const token = `token: ${tokenFile}`;
  return [
    "Listening on loopback:",
    `  webhook  https://${webhook.address}  (CA: ${caFile}; health and metrics: http://${webhook.healthAddress})`,
    `  sidecar  http://${sidecar.address}  (${token}; health and metrics: http://${sidecar.healthAddress})`,
    `  STS      ${sts.url}  (an emulator: no AWS account is used)`,
    ...pages.map(({ name, purpose, server }) => `  ${name.padEnd(7)}  http://${server.address}  (${purpose})`),
    "",
    "To use one of these roles in an AWS SDK:",
    `  export AWS_CONTAINER_CREDENTIALS_FULL_URI=${quoted}`,
    `  export AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE=${tokenFile}`,
    // botocore, which AWS CLI version 1 uses, reads the region only from AWS_DEFAULT_REGION.
    `  export AWS_ENDPOINT_URL_STS=${sts.url} AWS_REGION=${region} AWS_DEFAULT_REGION=${region}`,
    "To assume roles as a controller does, with the sidecar in place of STS:",
    `  export AWS_CONTAINER_CREDENTIALS_FULL_URI=${credentials} AWS_ENDPOINT_URL_STS=http://${sidecar.address}/sts`,
    "SDKs prefer AWS_ACCESS_KEY_ID, AWS_PROFILE and ~/.aws/credentials to these variables: unset or remove them.",
    "",
    "Try in another terminal:",
    `  curl -H "Authorization: $(cat ${tokenFile})" ${quoted}`,
    `  npx --no-install ack-role-resolver lint ${from}${mode}`,
    `  npx --no-install ack-role-resolver resolve ${from}${mode} -o json`,
    "",
    `Change a file in ${from} to see the roles change. Press Ctrl-C to stop.`,
  ];
}

/** Returns lines that list the current role of each resource and the faults of the manifests. */
export function rolesLines(source: ManifestSource, settings: Settings, format: TableFormat): string[] {
  const objects = source.manifests.map(({ object }) => object);
  const resolved = resolveAll(objects, source.inventory, decisionSettings(settings));
  const { fault } = source.status;
  return [
    "Roles:",
    ...resolutionTable(resolved, format, (_style, text) => text),
    "",
    ...faultySelectorLines(faultySelectors(source.inventory, "cluster")),
    ...(fault === null ? [] : [`The manifests are invalid, so the last valid manifests are used: ${fault}`]),
    "",
  ];
}

/** Returns a warning if the manifests contain an ACK group that `served` does not contain. */
export function unservedGroupLines(source: ManifestSource, served: readonly string[]): string[] {
  const unserved = namedGroups(source).filter((group) => !served.includes(group));
  if (unserved.length === 0) return [];
  const warning = "The sidecar grants no roles for API groups that are added after its start.";
  return [`${warning} Restart local mode to add ${unserved.join(", ")}.`, ""];
}

/** Returns the path of the credentials of an example role. */
function examplePath(source: Input, settings: Settings): string {
  const examples = FEATURES.flatMap(({ examplePath: ofFeature }) => ofFeature?.(source.inventory, settings) ?? []);
  const { path, pattern } = examples[0] ?? exampleSelector(source);
  return path ?? otherPath(source, settings) ?? pattern;
}

function exampleSelector({ inventory }: Input): ExamplePath {
  const selectors = [...inventory.of(SELECTORS).values()].filter(({ grantable }) => grantable);
  const [name] = selectors.map((one) => one.name).toSorted();
  return { path: name === undefined ? null : `selectors/${name}`, pattern: "selectors/NAME" };
}

function otherPath({ manifests, inventory }: Input, settings: Settings): string | null {
  const decisions = decisionSettings(settings);
  const resolved = resolveAll(manifests.map(({ object }) => object), inventory, decisions);
  const [path = null] = FEATURES.flatMap(({ examplePathOf }) => examplePathOf?.(resolved, inventory, decisions) ?? []);
  return path;
}
