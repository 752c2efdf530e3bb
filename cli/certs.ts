import { makeCertificates } from "../certs/make.ts";
import { storeCertificates } from "../certs/store.ts";
import type { SettingsFor } from "../shared/decisions/settings.ts";
import { EXIT, type ExitStatus, type IO } from "./io.ts";

/** Prints the paths of what it wrote, a line each. */
export async function runCertsMake({ dir, host, force }: SettingsFor<"certs make">, io: IO): Promise<ExitStatus> {
  const certificates = await makeCertificates({ hosts: host, now: new Date() });
  const paths = await storeCertificates(dir ?? "", certificates, { force });
  for (const path of paths) io.stdout.write(`${path}\n`);
  return EXIT.fine;
}
