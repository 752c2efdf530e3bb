import { needsAccessReviews } from "../shared/judges.ts";
import { readFile } from "node:fs/promises";
import { isManifestPart, manifestObjects, renderYAML } from "../manifests/render.ts";
import { checkSeveritiesOf } from "../shared/core/context.ts";
import { ResolverError } from "../shared/formats/errors.ts";
import type { SettingsFor } from "../shared/core/settings.ts";
import { controllersOf } from "../shared/formats/names.ts";
import { EXIT, type ExitStatus, type IO, writeLines, writeStartNotices } from "./io.ts";

/** Prints the manifests that only the program knows, as YAML. The Helm chart installs the rest. */
export async function runManifests(part: string, settings: SettingsFor<"manifests">, io: IO): Promise<ExitStatus> {
  const { url, caFile, check, controllerUsers } = settings;
  if (!isManifestPart(part) || (part === "all" && url === null)) {
    throw new ResolverError("ERR_CONFIG_INVALID", `manifests ${part}: ${INSTEAD}`);
  }
  const caBundle = caFile === null ? null : await readCA(caFile);
  writeStartNotices(settings, io);
  const checkSeverities = checkSeveritiesOf(check, settings.profile);
  const policies = { ...settings, ...controllersOf(controllerUsers), checkSeverities };
  const options = {
    ...settings, policies, caBundle, maintainsCertificates: url === null && caFile === null,
    accessReviews: needsAccessReviews(policies),
  };
  if (part === "crds") writeLines(io.stderr, [REPLACES]);
  io.stdout.write(renderYAML(manifestObjects(part, options)));
  return EXIT.fine;
}

const INSTEAD = "run `helm install ack-role-resolver manifests/chart --namespace ack-role-resolver "
  + "--create-namespace`, or `helm template` with these arguments; manifests prints crds, rbac, policies, webhooks, "
  + "and with --url and --ca-file all, for a webhook outside the cluster";

const REPLACES = "warning: this CRD replaces the CRD of ACK's charts; docs/crd.md states when that is useful";

const CA_FIX = "use the ca.crt that `certs make` wrote";

async function readCA(file: string): Promise<string> {
  let pem: string;
  try {
    pem = await readFile(file, "utf8");
  } catch (error) {
    throw new ResolverError("ERR_CONFIG_TLS_MISSING", `--ca-file ${file}: cannot be read; ${CA_FIX}`, { cause: error });
  }
  if (pem.includes("-----BEGIN CERTIFICATE-----")) return pem;
  throw new ResolverError("ERR_CONFIG_TLS_INVALID", `--ca-file ${file}: is not a PEM certificate; ${CA_FIX}`);
}
