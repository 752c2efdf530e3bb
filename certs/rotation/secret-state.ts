import { isDeepStrictEqual } from "node:util";
import type { ObjectName } from "../../shared/api/watched-kind.ts";
import { field, type JsonObject, stringAt } from "../../shared/formats/json.ts";
import { permitsOnly } from "../name-constraints.ts";
import { CERTIFICATE_FILES } from "../certificate-files.ts";
import { isCurrent } from "./plan.ts";
import type { CertificateReports } from "./reports.ts";
import { authoritiesOf, base64, type CertificateSet, parseSecret, type StoredCertificates } from "./secret.ts";
import type { WatchedObjects } from "./watched-objects.ts";

interface ServingSecretOptions {
  readonly serving: ObjectName;
  readonly reports: CertificateReports;
  readonly watched: WatchedObjects;
}

/** The annotation of a Secret that cert-manager writes. */
const CERT_MANAGER_ANNOTATION = "cert-manager.io/certificate-name";

/** Maintains the Secret that the Pods of the webhook mount: a copy of the certificate, without the key of the CA. */
export class ServingSecret {
  readonly #options: ServingSecretOptions;
  /** The last data that this process wrote, or read and found correct. */
  #correct: JsonObject | null = null;

  constructor(options: ServingSecretOptions) {
    this.#options = options;
  }

  /** Whether another program writes the Secret. This program then changes nothing. */
  get isForeign(): boolean {
    return stringAt(this.#object ?? {}, "metadata", "annotations", CERT_MANAGER_ANNOTATION) !== null;
  }

  get #object(): JsonObject | null | undefined {
    const { watched, serving } = this.#options;
    return watched.secret(serving);
  }

  /**
   * Writes the certificate, unless the API server does not trust its CA yet. Returns whether the Secret contains
   * exactly the certificate.
   */
  async write(stored: StoredCertificates, { isTrusted }: { readonly isTrusted: boolean }): Promise<boolean> {
    const { serving, watched, reports } = this.#options;
    const object = this.#object;
    const data = dataOf(stored);
    if (isDeepStrictEqual(field(object, "data"), data)) {
      this.#correct = data;
      return true;
    }
    if (object === undefined || !isTrusted) return false;
    const outcome = await watched.writeSecret({ ...object, data }, serving);
    reports.served(serving.name, outcome, { isRestored: isDeepStrictEqual(this.#correct, data) });
    if (outcome !== "ok") return false;
    this.#correct = data;
    return true;
  }
}

/** Returns the data of the Secret. It has the entries of a Secret of type kubernetes.io/tls. */
function dataOf({ leaf, ca }: StoredCertificates): JsonObject {
  const { cert, key, ca: authority } = CERTIFICATE_FILES;
  return { [cert]: base64(leaf?.cert), [key]: base64(leaf?.key), [authority]: base64(ca?.cert) };
}

interface SecretStateOptions {
  readonly hosts: readonly string[];
  readonly nowMs: () => number;
  /** Receives the fault of the Secret; null if the Secret is valid. */
  readonly onFault: (fault: string | null) => void;
}

interface ReadObjects {
  /** The Secret that contains the CA: null if it does not exist, and undefined if it was never read. */
  readonly secret: JsonObject | null | undefined;
  /** The Secret of the serving certificate, in which an earlier version stored its CA too. */
  readonly serving: JsonObject | null | undefined;
  /** The CAs of `trustedCAs`; null if a configuration was never read. */
  readonly trusted: readonly string[] | null;
}

/**
 * What this process knows about the Secret that contains the CA, and which CAs this installation issued: a CA that
 * this process created, or that a caBundle contained when this process had not created one. Only this program and
 * administrators can write the caBundles, so a CA that someone writes to the Secret is never published.
 */
export class SecretState {
  readonly #options: SecretStateOptions;
  #parsedFrom: ReadObjects | null = null;
  readonly #own = new Set<string>();
  /** The Secret that `stored` was parsed from; null if it does not exist. */
  object: JsonObject | null = null;
  /** The parsed Secret; null until the Secret is read. A Secret that does not exist is parsed as an empty Secret. */
  stored: StoredCertificates | null = null;
  /** The last valid content of the Secret. */
  remembered: StoredCertificates | null = null;

  constructor(options: SecretStateOptions) {
    this.#options = options;
  }

  /** Records the CAs that this process created, before they are stored. */
  addCreated(set: CertificateSet): void {
    for (const one of authoritiesOf(set)) this.#own.add(one);
  }

  /** Parses the Secret if anything changed. */
  update(read: ReadObjects): void {
    const { secret, serving, trusted } = read;
    if (secret === undefined) return;
    if (this.stored === null || !isSame(read, this.#parsedFrom)) {
      this.#parsedFrom = read;
      this.object = secret;
      this.stored = this.#parse(secret, trusted);
      // The CA of an earlier version. The serving Secret contains no key of a CA otherwise.
      if (this.remembered === null && isEmpty(secret)) this.#remember(this.#parse(serving, trusted), trusted);
    }
    this.#remember(this.stored, trusted);
    const { faults } = this.stored;
    this.#options.onFault(faults.length === 0 ? null : faults.join("; "));
  }

  /** Whether this replica can write the last valid content again. */
  get canRestore(): boolean {
    return isRestorable(this.remembered, this.#options.nowMs());
  }

  #parse(secret: JsonObject | null | undefined, trusted: readonly string[] | null): StoredCertificates {
    const { hosts } = this.#options;
    const isOwn = (pem: string): boolean => {
      if (trusted === null || this.#own.has(pem) || trusted.includes(pem)) return true;
      // The first start, or webhook configurations that were created again: no caBundle shows who issued the CA.
      return trusted.length === 0 && this.#own.size === 0 && permitsOnly(pem, hosts);
    };
    return parseSecret(secret ?? {}, { hosts, isOwn });
  }

  /** Without the webhook configurations, it is not known who issued the CA. */
  #remember(stored: StoredCertificates, trusted: readonly string[] | null): void {
    if (trusted === null || !isRestorable(stored, this.#options.nowMs())) return;
    this.remembered = stored;
    for (const one of authoritiesOf(stored)) this.#own.add(one);
  }
}

function isSame(read: ReadObjects, before: ReadObjects | null): boolean {
  if (before === null || read.secret !== before.secret || read.serving !== before.serving) return false;
  return JSON.stringify(read.trusted) === JSON.stringify(before.trusted);
}

function isEmpty(secret: JsonObject | null): boolean {
  return Object.keys(field(secret, "data") ?? {}).length === 0;
}

/** Whether this replica can write the certificates to the Secret again: all of them are complete and still valid. */
export function isRestorable(stored: StoredCertificates | null, nowMs: number): boolean {
  if (stored === null || stored.ca === null || stored.leaf === null || stored.faults.length > 0) return false;
  return isCurrent(stored.ca, nowMs) && isCurrent(stored.leaf, nowMs);
}
