import type { Clock } from "../../shared/core/clock.ts";
import type { KubernetesAPI } from "../../shared/api/api.ts";
import { sendExpecting } from "../../shared/api/send-request.ts";
import { IDENTITY_ACCOUNTS } from "../../shared/core/installation.ts";
import { errorMessage } from "../../shared/formats/errors.ts";
import { accountEntry, type SecretVersion } from "../../shared/capa/identity-secret.ts";
import type { Logger } from "../../shared/server/logger.ts";

interface AccountRecordsOptions {
  readonly api: KubernetesAPI;
  readonly clock: Pick<Clock, "schedule">;
  /** --identity-secret-namespace. */
  readonly namespace: string;
  readonly log: Pick<Logger, "warn">;
}

const FIX = "apply the objects of `manifests rbac --identity-secret-namespace` again, and bind the Role "
  + "ack-role-resolver-identity-secrets to the service account of the sidecar";

/**
 * Records the accounts of static identities in a ConfigMap, which the webhook reads: it can then tell whether a cluster
 * moves to another account. A failed write is not repeated: STS confirms each access key that is in use every few
 * minutes, and each confirmation writes the record again.
 */
export class AccountRecords {
  readonly #options: AccountRecordsOptions;
  /** The entries to write, by the name of the Secret. */
  readonly #pending = new Map<string, string>();
  #isWriting = false;
  #fault: string | null = null;

  constructor(options: AccountRecordsOptions) {
    this.#options = options;
  }

  /** Records the account of the access key in this content of the Secret. Never waits and never throws. */
  record(name: string, accountID: string, version: SecretVersion): void {
    this.#pending.set(name, accountEntry(accountID, version));
    if (!this.#isWriting) void this.#write();
  }

  /** Writes the pending entries, as many as there are with each request. Never rejects. */
  async #write(): Promise<void> {
    this.#isWriting = true;
    while (this.#pending.size > 0) {
      const data = Object.fromEntries(this.#pending);
      this.#pending.clear();
      // The next request has the entries of the meantime.
      // oxlint-disable-next-line no-await-in-loop
      await this.#patch(data);
    }
    this.#isWriting = false;
  }

  async #patch(data: Readonly<Record<string, string>>): Promise<void> {
    const { namespace, log } = this.#options;
    const request = {
      method: "PATCH", path: `/api/v1/namespaces/${namespace}/configmaps/${IDENTITY_ACCOUNTS}`,
      contentType: "application/merge-patch+json", body: JSON.stringify({ data }),
    } as const;
    try {
      await sendExpecting(this.#options, request, []);
      this.#fault = null;
    } catch (error) {
      const fault = errorMessage(error);
      if (fault !== this.#fault) log.warn({ fault, fix: FIX }, "accounts of static identities cannot be recorded");
      this.#fault = fault;
    }
  }
}
