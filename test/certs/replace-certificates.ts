import { mkdtemp, rename } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Certificates } from "../../certs/make.ts";
import { storeCertificates } from "../../certs/certificate-files.ts";

/** Replaces the files of a certificate folder one by one, as a user does who makes new certificates. */
export async function replaceCertificates(dir: string, certificates: Certificates): Promise<void> {
  for (const path of await storeCertificates(await mkdtemp(join(dir, "next-")), certificates)) {
    await rename(path, join(dir, basename(path)));
  }
}
