import { type CertificateAndKey, issueCertificate, makeAuthority } from "../make.ts";
import type { CertificateSet, StoredAuthority, StoredCertificates, StoredLeaf } from "./secret.ts";

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

/**
 * A change of the Secret:
 * - `restore` writes the certificates that this replica read last.
 * - `create` writes a new CA and a certificate that the CA signs.
 * - `issue` writes a new certificate of the same CA.
 * - `stage` writes the next CA. The API server then trusts both CAs.
 * - `switch` makes the next CA the current CA, and writes a certificate that the CA signs.
 * - `retire` removes the previous CA. The API server then trusts only the current CA.
 */
export interface Step {
  readonly type: "restore" | "create" | "issue" | "stage" | "switch" | "retire";
  /** Why the step is necessary, for the log and the Event. */
  readonly reason: string;
}

/** Durations of the rotation, in ms. */
export interface Timing {
  /** The lifetime of a serving certificate. */
  readonly leafMs: number;
  readonly caMs: number;
  /**
   * How long both webhook configurations must contain the next CA before the next CA signs a certificate. Each API
   * server reads the configurations with a delay.
   */
  readonly publishMs: number;
  /**
   * How long the API server trusts the previous CA after the new certificate is stored. A kubelet updates the files of
   * a Pod within about 90 s, or 150 s if it does not watch Secrets.
   */
  readonly retireMs: number;
}

export interface PlanInput {
  readonly nowMs: number;
  readonly timing: Timing;
  readonly stored: StoredCertificates;
  /** Whether this replica has read certificates earlier that are still valid. */
  readonly canRestore: boolean;
  /**
   * How long the caBundles of all webhook configurations have contained exactly the CAs of the Secret, in ms. Null if
   * a caBundle differs or is unknown.
   */
  readonly inForceMs: number | null;
  /** How long the Secrets have contained the current certificate, in ms. */
  readonly unchangedMs: number;
}

/** Returns the next change of the Secret, or null if no change is due. */
export function nextStep(input: PlanInput): Step | null {
  return repairStep(input) ?? rotationStep(input) ?? renewalStep(input);
}

/** Returns the step that replaces missing, invalid or expired certificates. */
function repairStep({ stored, canRestore, nowMs }: PlanInput): Step | null {
  const { ca, leaf, next } = stored;
  const fault = stored.faults.join("; ");
  if (fault !== "" && canRestore) return { type: "restore", reason: fault };
  if (ca === null) return { type: "create", reason: fault };
  if (!isCurrent(ca, nowMs)) {
    const reason = `the CA ${validity(ca)}`;
    return isUsable(next, nowMs) ? { type: "switch", reason } : { type: "create", reason };
  }
  return leaf === null || fault !== "" ? signStep(ca, fault) : leafStep(ca, leaf, nowMs);
}

/** Returns the step that replaces a certificate that is expired or does not have the names of the webhook. */
function leafStep(ca: StoredAuthority, leaf: StoredLeaf, nowMs: number): Step | null {
  if (!isCurrent(leaf, nowMs)) return signStep(ca, `the certificate ${validity(leaf)}`);
  if (leaf.missingHosts.length === 0 || !ca.permitsHosts) return null;
  return { type: "issue", reason: `the certificate is not valid for ${leaf.missingHosts.join(", ")}` };
}

/** Returns the step that replaces an unusable certificate. The CA may not permit the names that the webhook needs. */
function signStep(ca: StoredAuthority, reason: string): Step {
  return { type: ca.permitsHosts ? "issue" : "create", reason };
}

/** Returns the next step of a CA rotation that has started. */
function rotationStep({ stored, nowMs, inForceMs, unchangedMs, timing }: PlanInput): Step | null {
  const { next, previous } = stored;
  if (next !== null && !isUsable(next, nowMs)) {
    const reason = next.permitsHosts ? `the next CA ${validity(next)}` : "the next CA does not permit the names";
    return { type: "stage", reason };
  }
  if (inForceMs === null) return null;
  if (next !== null) {
    return inForceMs < timing.publishMs ? null : { type: "switch", reason: "the API server trusts the next CA" };
  }
  if (previous.length === 0 || unchangedMs < timing.retireMs) return null;
  return { type: "retire", reason: "no replica serves a certificate of the previous CA" };
}

/** Returns the step that renews certificates in time, or on request. */
function renewalStep({ stored: { ca, leaf, next, previous, rotate }, nowMs }: PlanInput): Step | null {
  if (ca === null || leaf === null) return null;
  const isRotating = next !== null || previous.length > 0;
  const staging = isRotating ? null : stagingReason(ca, rotate, nowMs);
  if (staging !== null) return { type: "stage", reason: staging };
  if (!ca.permitsHosts) return null;
  if (rotate === "leaf") return { type: "issue", reason: "an annotation of the Secret requests a new certificate" };
  // A certificate that ends with its CA cannot be extended.
  if (leaf.notAfterMs >= ca.notAfterMs || !isDue(leaf, nowMs)) return null;
  return { type: "issue", reason: "two thirds of the certificate's lifetime are over" };
}

function stagingReason(ca: StoredAuthority, rotate: string | null, nowMs: number): string | null {
  if (rotate === "ca") return "an annotation of the Secret requests a new CA";
  if (!ca.permitsHosts) return "the CA does not permit the names of the webhook";
  return isDue(ca, nowMs) ? "two thirds of the CA's lifetime are over" : null;
}

type Dates = Pick<StoredAuthority, "notBeforeMs" | "notAfterMs">;

/** Whether the certificate is valid at `nowMs`. */
export function isCurrent({ notBeforeMs, notAfterMs }: Dates, nowMs: number): boolean {
  return nowMs >= notBeforeMs && nowMs < notAfterMs;
}

function isUsable(ca: StoredAuthority | null, nowMs: number): boolean {
  return ca !== null && ca.permitsHosts && isCurrent(ca, nowMs);
}

function isDue({ notBeforeMs, notAfterMs }: Dates, nowMs: number): boolean {
  return nowMs >= notBeforeMs + (notAfterMs - notBeforeMs) * (2 / 3);
}

/** Returns the validity of a certificate, for a sentence about it. */
export function validity({ notBeforeMs, notAfterMs }: Dates): string {
  return `is valid only from ${new Date(notBeforeMs).toISOString()} to ${new Date(notAfterMs).toISOString()}`;
}
