import { type Certificates, makeCertificates } from "../../certs/make.ts";

/** Two pairs for loopback, valid now. Made once for each test file, since keys take a moment. */
export async function makePairs(): Promise<readonly [Certificates, Certificates]> {
  const now = new Date();
  return Promise.all([makeCertificates({ hosts: ["127.0.0.1"], days: 30, now }), makeCertificates({ hosts: ["127.0.0.1"], days: 60, now })]);
}
