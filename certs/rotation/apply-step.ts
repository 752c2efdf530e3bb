import type { KubernetesRequest } from "../../shared/cluster/api.ts";
import { rejectionText, type SendPorts, sendRequest } from "../../shared/cluster/send-request.ts";
import type { ObjectName } from "../../shared/cluster/watched-kind.ts";
import { labelsOf } from "../../shared/contract/installation.ts";
import { type JsonObject, stringAt } from "../../shared/formats/json.ts";
import { type CertificateAndKey, issueCertificate, makeAuthority } from "../make.ts";
import type { TestedOperation } from "./ca-bundle.ts";
import type { Step, Timing } from "./plan.ts";
import type { CertificateSet, StoredCertificates } from "./secret.ts";

/** The result of a write: the stored object, or null if another client changed the object at the same time. */
type Written = JsonObject | null;

/** The field manager, which `kubectl get --show-managed-fields` shows. */
const MANAGER = "fieldManager=ack-role-resolver-certificates";

/**
 * Creates or updates the Secret. The update contains the resource version that the replica read. So a replica that is
 * not the leader anymore cannot overwrite the CA of another replica.
 */
export async function writeSecret(
  ports: SendPorts, secret: JsonObject, { namespace, name }: ObjectName,
): Promise<Written> {
  const path = `/api/v1/namespaces/${namespace}/secrets`;
  const isNew = stringAt(secret, "metadata", "resourceVersion") === null;
  const metadata = { namespace, name, labels: labelsOf("certificates") };
  const created = { ...secret, apiVersion: "v1", kind: "Secret", type: "Opaque", metadata };
  const request = isNew
    ? { method: "POST", path: `${path}?${MANAGER}`, body: JSON.stringify(created) } as const
    : { method: "PUT", path: `${path}/${name}?${MANAGER}`, body: JSON.stringify(secret) } as const;
  // 404: another client deleted the Secret.
  return await send(ports, request, new Set(isNew ? [409] : [404, 409]));
}

/**
 * Sets the caBundles in a webhook configuration. A JSON patch changes only these fields, and tests that each webhook is
 * still at its position. Server-side apply would create incomplete webhooks if a user removed them at the same time,
 * and would own the fields, so that a GitOps tool reports a conflict.
 */
export async function writeBundle(
  ports: SendPorts, [plural, configuration]: readonly [string, JsonObject], patch: readonly TestedOperation[],
): Promise<Written> {
  const name = stringAt(configuration, "metadata", "name") ?? "";
  const path = `/apis/admissionregistration.k8s.io/v1/${plural}/${name}?${MANAGER}`;
  const contentType = "application/json-patch+json";
  // 422: a test of the patch failed. 404: another client deleted the configuration.
  const request = { method: "PATCH", path, contentType, body: JSON.stringify(patch) } as const;
  return await send(ports, request, new Set([404, 409, 422]));
}

async function send(
  ports: SendPorts, request: Omit<KubernetesRequest, "signal">, conflicts: ReadonlySet<number>,
): Promise<Written> {
  const response = await sendRequest(ports, request);
  if (conflicts.has(response.status)) return null;
  if (response.status !== 200 && response.status !== 201) throw new Error(rejectionText(request, response));
  return response.object;
}

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
