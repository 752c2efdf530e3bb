import { makeCertificates } from "../certs/make.ts";
import { storeCertificates } from "../certs/store.ts";
import type { SettingsFor } from "../shared/decisions/settings.ts";
import { EXIT, type ExitStatus, type IO, writeLines } from "./io.ts";

/** Writes the certificates and prints their paths, one line each. */
export async function runCertsMake({ dir, host, force }: SettingsFor<"certs make">, io: IO): Promise<ExitStatus> {
  const certificates = await makeCertificates({ hosts: host, now: new Date() });
  writeLines(io.stdout, await storeCertificates(dir ?? "", certificates, { force }));
  return EXIT.fine;
}
