import { readFile } from "node:fs/promises";
import { DEFAULT_IMAGE } from "../manifests/deployment.ts";
import { isManifestPart, MANIFEST_PARTS, renderManifests } from "../manifests/render.ts";
import { needsAccessReviews } from "../shared/checks/access-reviews.ts";
import { checkSeveritiesOf } from "../shared/contract/context.ts";
import { ResolverError } from "../shared/formats/errors.ts";
import type { SettingsFor } from "../shared/contract/settings.ts";
import { controllersOf } from "../shared/formats/names.ts";
import { EXIT, type ExitStatus, type IO, writeLines } from "./io.ts";
import { writeStartNotices } from "./serve.ts";

/** Prints the install manifests as YAML. */
export async function runManifests(part: string, settings: SettingsFor<"manifests">, io: IO): Promise<ExitStatus> {
  if (!isManifestPart(part)) {
    throw new ResolverError("ERR_CONFIG_INVALID", `"${part}": expected one of ${MANIFEST_PARTS.join(", ")}`);
  }
  const { url, caFile } = settings;
  const caBundle = caFile === null ? null : await readCA(caFile);
  writeStartNotices(settings, io);
  const certificates = settings.certificates ?? (url === null && caFile === null ? "self-signed" : "files");
  const { check, controllerUsers } = settings;
  const policies = { ...settings, ...controllersOf(controllerUsers), checkSeverities: checkSeveritiesOf(check) };
  const options = {
    ...settings, policies, caBundle, certificates, image: settings.image ?? DEFAULT_IMAGE,
    accessReviews: needsAccessReviews(policies),
  };
  if (part === "crds") writeLines(io.stderr, [REPLACES]);
  io.stdout.write(renderManifests(part, options));
  return EXIT.fine;
}

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
