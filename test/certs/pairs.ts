import { type Certificates, makeCertificates } from "../../certs/make.ts";

/**
 * Returns two valid certificates for loopback, each with its key. Call this function once per test file, because key
 * generation is slow.
 */
export async function makePairs(): Promise<readonly [Certificates, Certificates]> {
  const now = new Date();
  return Promise.all([
    makeCertificates({ hosts: ["127.0.0.1", "::1"], days: 30, now }),
    makeCertificates({ hosts: ["127.0.0.1", "::1"], days: 60, now }),
  ]);
}
