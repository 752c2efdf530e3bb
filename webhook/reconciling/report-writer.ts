import { errorMessage } from "../../shared/decisions/errors.ts";
import { field, isJsonObject, type JsonObject, stringAt } from "../../shared/decisions/kubernetes/json.ts";
import { LIMITS } from "../../shared/decisions/limits.ts";
import { REPORT_NAME } from "../../shared/decisions/problems/report.ts";
import { sleep, type SteadyClock } from "../../shared/inventory/clock.ts";
import type { KubernetesAPI } from "../../shared/inventory/cluster/api.ts";
import { type Page, readPages } from "../../shared/inventory/cluster/pages.ts";
import { rejectionText, sendRequest } from "../../shared/inventory/cluster/send-request.ts";
import type { Logger } from "../../shared/server/logger.ts";
import { RetryQueue } from "../../shared/server/retry-queue.ts";
import type { WebhookMetrics } from "../metrics.ts";
import { FIELD_MANAGER } from "./field-manager.ts";

interface ReportWriterOptions {
  readonly api: KubernetesAPI;
  readonly clock: SteadyClock;
  readonly log: Pick<Logger, "warn">;
  readonly metrics: Pick<WebhookMetrics, "reports">;
  /** Whether this replica is the leader. */
  readonly mayWrite: () => boolean;
}

/** The minimum time between two writes, in ms. */
const WRITE_MS = 200;
const IDLE_MS = 500;
const LIST_RETRY_MS = 5_000;
const GROUP_PATH = "/apis/openreports.io/v1alpha1";
const APPLY = "application/apply-patch+yaml";
const MANAGED = "labelSelector=app.kubernetes.io%2Fmanaged-by%3Dack-role-resolver";
const PAGE_SIZE = 500;
const FIX = "install the CRDs of OpenReports, and apply the objects of `manifests rbac --policy-reports`";

/**
 * Writes a Report for each namespace that has problems, and a ClusterReport. Writes only reports that have changed, one
 * after the other, and deletes a report when its namespace has no more problems.
 */
export class ReportWriter {
  readonly #options: ReportWriterOptions;
  readonly #queue = new RetryQueue(LIMITS.queuedRefreshes.value);
  /** The reports to store, by namespace and as JSON; null for a report to delete. */
  readonly #wanted = new Map<string, string | null>();
  /** The stored reports, as JSON; "" if the content is unknown. Null until the stored reports are listed. */
  #stored: Map<string, string> | null = null;
  /** The reports of the last scan of the cluster-scoped objects (true), and of the resources (false). */
  readonly #published = new Map<boolean, ReadonlyMap<string, JsonObject>>();
  #fault: string | null = null;

  constructor(options: ReportWriterOptions) {
    this.#options = options;
  }

  /** Queues the reports that differ from the stored ones: of cluster-scoped objects (`isCluster`) or of resources. */
  publish(reports: ReadonlyMap<string, JsonObject>, { isCluster }: { isCluster: boolean }): void {
    this.#published.set(isCluster, reports);
    if (this.#stored === null) return;
    for (const [namespace, report] of reports) this.#want(namespace, JSON.stringify(report));
    // The report of a namespace that was deleted before the first write is not stored.
    for (const namespace of [...this.#stored.keys(), ...this.#wanted.keys()]) {
      if ((namespace === "") === isCluster && !reports.has(namespace)) this.#want(namespace, null);
    }
  }

  /** Forgets the reports when another replica may lead. */
  reset(): void {
    this.#stored = null;
    this.#published.clear();
    this.#wanted.clear();
    this.#queue.clear();
  }

  /** Writes the queued reports until `stopping` aborts. Never rejects. */
  async run(stopping: AbortSignal): Promise<void> {
    const { clock, mayWrite } = this.#options;
    while (!stopping.aborted) {
      if (mayWrite() && this.#stored === null && this.#published.size > 0) {
        // oxlint-disable-next-line no-await-in-loop
        const isListed = await this.#readStored();
        // oxlint-disable-next-line no-await-in-loop
        if (!isListed) await sleep(clock, LIST_RETRY_MS, stopping);
      }
      const queued = mayWrite() ? this.#queue.take(clock.steady()) : null;
      if (queued !== null) {
        // Writes are sequential.
        // oxlint-disable-next-line no-await-in-loop
        const isWritten = await this.#write(queued.key);
        if (!isWritten) this.#queue.retry(queued, clock.steady());
      }
      // oxlint-disable-next-line no-await-in-loop
      await sleep(clock, queued === null ? IDLE_MS : WRITE_MS, stopping);
    }
  }

  /** Lists the stored reports, and then queues the published reports. Returns whether the list succeeded. */
  async #readStored(): Promise<boolean> {
    const stored = await this.#list();
    if (stored === null) return false;
    this.#stored = stored;
    for (const [isCluster, reports] of this.#published) this.publish(reports, { isCluster });
    return true;
  }

  #want(namespace: string, report: string | null): void {
    const stored = this.#stored?.get(namespace) ?? null;
    if (stored === report) {
      this.#wanted.delete(namespace);
      return;
    }
    this.#wanted.set(namespace, report);
    this.#queue.add(namespace);
  }

  /** Applies or deletes one report. Returns whether nothing remains to be done. */
  async #write(namespace: string): Promise<boolean> {
    const report = this.#wanted.get(namespace);
    if (report === undefined) return true;
    const path = namespace === ""
      ? `${GROUP_PATH}/clusterreports/${REPORT_NAME}`
      : `${GROUP_PATH}/namespaces/${encodeURIComponent(namespace)}/reports/${REPORT_NAME}`;
    const isDone = report === null
      ? await this.#send({ method: "DELETE", path })
      : await this.#send({
        method: "PATCH", path: `${path}?fieldManager=${FIELD_MANAGER}&force=true`, contentType: APPLY, body: report,
      });
    if (!isDone) return false;
    if (report === null) this.#stored?.delete(namespace);
    else this.#stored?.set(namespace, report);
    if (this.#wanted.get(namespace) === report) this.#wanted.delete(namespace);
    return true;
  }

  async #send(request: Parameters<typeof sendRequest>[1]): Promise<boolean> {
    try {
      const response = await sendRequest(this.#options, request);
      const { status } = response;
      const isDone = status === 200 || status === 201 || status === 404 && request.method === "DELETE";
      return this.#report(isDone ? null : rejectionText(request, response));
    } catch (error) {
      return this.#report(errorMessage(error));
    }
  }

  /** Returns the namespaces of all stored reports of this program; null if they cannot be listed. */
  async #list(): Promise<Map<string, string> | null> {
    const stored = new Map<string, string>();
    for (const kind of ["reports", "clusterreports"]) {
      const path = `${GROUP_PATH}/${kind}?${MANAGED}`;
      // The lists are read in sequence.
      // oxlint-disable-next-line no-await-in-loop
      for await (const page of readPages(PAGE_SIZE, ({ query }) => this.#page(`${path}&${query}`))) {
        if (page.namespaces === null) return null;
        for (const namespace of page.namespaces) stored.set(namespace, "");
      }
    }
    return stored;
  }

  /** Returns the namespaces of the reports of a page; null if the page cannot be read. */
  async #page(path: string): Promise<Page & { readonly namespaces: readonly string[] | null }> {
    const unreadable = { namespaces: null, continuation: "" };
    try {
      const response = await sendRequest(this.#options, { path });
      const items = field(response.object, "items");
      if (response.status !== 200 || !Array.isArray(items)) {
        this.#report(rejectionText({ path }, response));
        return unreadable;
      }
      const named = items.filter(isJsonObject).filter((item) => stringAt(item, "metadata", "name") === REPORT_NAME);
      const namespaces = named.map((item) => stringAt(item, "metadata", "namespace") ?? "");
      return { namespaces, continuation: stringAt(response.object, "metadata", "continue") ?? "" };
    } catch (error) {
      this.#report(errorMessage(error));
      return unreadable;
    }
  }

  /** Counts the request, and logs a new fault. Returns whether the request succeeded. */
  #report(fault: string | null): boolean {
    const { log, metrics } = this.#options;
    metrics.reports.inc({ outcome: fault === null ? "ok" : "failed" });
    if (fault !== null && this.#fault === null) {
      log.warn({ fault, fix: FIX }, "reports of --policy-reports cannot be written; retrying");
    }
    this.#fault = fault;
    return fault === null;
  }
}
