import { writeFile } from "node:fs/promises";
import path from "node:path";
import type { Test } from "tap";
import { stringify } from "yaml";
import { isJsonObject, stringAt } from "../../../shared/formats/json.ts";
import { freePorts } from "../../free-ports.ts";
import { get } from "../../loopback-request.ts";
import { startProcess } from "../apiserver/managed-process.ts";
import { until } from "../apiserver/until.ts";

const READY_LIMIT_MS = 15_000;

interface PrometheusOptions {
  /** An existing folder for the files of Prometheus. */
  readonly folder: string;
  readonly program: string;
  readonly rules: string;
  /** Maps each job name to the address that Prometheus scrapes. */
  readonly targets: Readonly<Record<string, string>>;
}

/** A Prometheus that scrapes its targets and evaluates its rules each second. */
export class Prometheus {
  readonly #url: string;

  private constructor(url: string) {
    this.#url = url;
  }

  static async start(t: Test, { folder, program, rules, targets }: PrometheusOptions): Promise<Prometheus> {
    const [port] = await freePorts(1);
    const file = path.join(folder, "prometheus.yaml");
    await writeFile(file, stringify({
      global: { scrape_interval: "1s", evaluation_interval: "1s" },
      rule_files: [rules],
      scrape_configs: Object.entries(targets).map(([name, address]) => (
        { job_name: name, static_configs: [{ targets: [address] }] }
      )),
    }));
    const flags = [
      `--config.file=${file}`, `--storage.tsdb.path=${path.join(folder, "data")}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ];
    const running = await startProcess(program, flags, folder, path.join(folder, "log"));
    t.teardown(() => running.stop("SIGTERM"));
    const url = `http://127.0.0.1:${port}`;
    const isReady = (): Promise<boolean> => get(`${url}/-/ready`).then(({ status }) => status === 200, () => false);
    if (!(await until(isReady, READY_LIMIT_MS))) throw new Error(await running.logTail());
    return new Prometheus(url);
  }

  /** Returns the series that an expression returns now. Throws if Prometheus rejects the expression. */
  async query(expression: string): Promise<readonly unknown[]> {
    return await this.#list(`query?query=${encodeURIComponent(expression)}`, "result");
  }

  /** Returns the names of the alerts that are pending or firing. */
  async alerts(): Promise<readonly string[]> {
    const alerts = await this.#list("alerts", "alerts");
    return [...new Set(alerts.map((alert) => stringAt(alert, "labels", "alertname") ?? ""))].toSorted();
  }

  async #list(resource: string, field: string): Promise<readonly unknown[]> {
    const { body } = await get(`${this.#url}/api/v1/${resource}`);
    const response: unknown = JSON.parse(body);
    if (!isJsonObject(response) || response["status"] !== "success") throw new Error(body);
    const items = isJsonObject(response["data"]) ? response["data"][field] : null;
    return Array.isArray(items) ? items : [];
  }
}
