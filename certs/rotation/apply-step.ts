import { type CertificateAndKey, issueCertificate, makeAuthority } from "../make.ts";
import type { Step, Timing } from "./plan.ts";
import type { CertificateSet, StoredCertificates } from "./secret.ts";

interface StepInput {
  readonly stored: StoredCertificates;
  /** The certificates that this replica read last, for the step `restore`. */
  readonly remembered: StoredCertificates | null;
  /** The CAs in the caBundles of the webhook configurations, as PEM. */
  readonly trusted: readonly string[];
  readonly hosts: readonly string[];
  readonly timing: Timing;
  readonly nowMs: number;
}

/** Returns the certificates that the Secret contains after the step. */
export async function applyStep(type: Step["type"], input: StepInput): Promise<CertificateSet> {
  const { ca, next, leaf, previous } = input.stored;
  if (type === "restore") return complete(input.remembered);
  if (type === "create" || ca === null) return await create(input);
  if (type === "issue" || leaf === null) return await reissue(ca, input);
  if (type === "stage") return { ca, leaf, next: await createAuthority(input), previous };
  if (type === "retire" || next === null) return { ca, leaf, next, previous: [] };
  return { ca: next, next: null, leaf: await issue(next, input), previous: [ca.cert, ...previous] };
}

function complete(remembered: StoredCertificates | null): CertificateSet {
  const { leaf, ca, next, previous } = remembered ?? { leaf: null, ca: null };
  if (!leaf || !ca) throw new Error("step restore: the certificates are not complete");
  return { leaf, ca, next: next ?? null, previous: previous ?? [] };
}

async function reissue(ca: CertificateAndKey, input: StepInput): Promise<CertificateSet> {
  const { stored: { next, previous, faults }, trusted } = input;
  // If a part of the Secret is lost, another replica may still serve a certificate of a CA in this part.
  const lost = faults.length === 0 ? [] : trusted;
  const others = withoutKnown([...previous, ...lost], [ca, next]);
  return { ca, next, leaf: await issue(ca, input), previous: others };
}

/** Creates a new CA. The API server trusts the old CAs for some time, because replicas may still serve their leaves. */
async function create(input: StepInput): Promise<CertificateSet> {
  const { stored, trusted } = input;
  const ca = await createAuthority(input);
  const old = [stored.ca, stored.next].flatMap((one) => one?.cert ?? []);
  const previous = withoutKnown([...old, ...stored.previous, ...trusted], [ca]);
  return { ca, next: null, leaf: await issue(ca, input), previous };
}

/** The maximum number of previous CAs, because the caBundle of another program may contain many CAs. */
const MAX_PREVIOUS = 4;

function withoutKnown(certificates: readonly string[], known: readonly (CertificateAndKey | null)[]): string[] {
  const current = new Set(known.map((one) => one?.cert));
  return [...new Set(certificates)].filter((one) => !current.has(one)).slice(0, MAX_PREVIOUS);
}

function createAuthority({ hosts, timing, nowMs }: StepInput): Promise<CertificateAndKey> {
  return makeAuthority({ names: hosts, now: new Date(nowMs), notAfter: new Date(nowMs + timing.caMs) });
}

function issue(authority: CertificateAndKey, { hosts, timing, nowMs }: StepInput): Promise<CertificateAndKey> {
  return issueCertificate(authority, { hosts, now: new Date(nowMs), notAfter: new Date(nowMs + timing.leafMs) });
}
