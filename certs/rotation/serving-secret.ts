import { isDeepStrictEqual } from "node:util";
import { field, type JsonObject, stringAt } from "../../shared/decisions/kubernetes/json.ts";
import type { SteadyClock } from "../../shared/inventory/clock.ts";
import type { KubernetesAPI } from "../../shared/inventory/cluster/api.ts";
import type { ObjectName } from "../../shared/inventory/cluster/watched-kind.ts";
import type { LeaderElection } from "../../shared/server/leader-election.ts";
import { CERTIFICATE_FILES } from "../store.ts";
import type { CertificateReports } from "./reports.ts";
import type { StoredCertificates } from "./secret.ts";
import type { WatchedObjects } from "./watched-objects.ts";
import { writeSecret } from "./writer.ts";

interface ServingSecretOptions {
  readonly api: KubernetesAPI;
  readonly clock: SteadyClock;
  readonly serving: ObjectName;
  readonly reports: CertificateReports;
  readonly watched: WatchedObjects;
  readonly election: LeaderElection;
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
    const { serving, watched, election, reports } = this.#options;
    const object = this.#object;
    const data = dataOf(stored);
    if (isDeepStrictEqual(field(object, "data"), data)) {
      this.#correct = data;
      return true;
    }
    if (object === undefined || !isTrusted || !election.isLeader) return false;
    if (object === null && watched.isRecentlyDeleted(serving)) return false;
    const written = await writeSecret(this.#options, { ...object, apiVersion: "v1", kind: "Secret", data }, serving);
    reports.served(serving.name, {
      isConflict: written === null, isRestored: isDeepStrictEqual(this.#correct, data),
    });
    if (written === null) return false;
    watched.store(written);
    this.#correct = data;
    return true;
  }
}

/** Returns the data of the Secret. It has the entries of a Secret of type kubernetes.io/tls. */
function dataOf({ leaf, ca }: StoredCertificates): JsonObject {
  const { cert, key, ca: authority } = CERTIFICATE_FILES;
  return { [cert]: base64(leaf?.cert), [key]: base64(leaf?.key), [authority]: base64(ca?.cert) };
}

function base64(text = ""): string {
  return Buffer.from(text).toString("base64");
}
