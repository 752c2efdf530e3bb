import { METRIC_PREFIX } from "../../shared/server/metrics.ts";

/** A graph of the dashboard. */
interface Graph {
  readonly title: string;
  /** A unit of Grafana, such as `s` for seconds and `reqps` for requests each second. */
  readonly unit: "s" | "reqps" | "short" | "bytes" | "percentunit" | "dateTimeFromNow";
  /** PromQL expressions by the legend of their series. A legend may contain labels, such as `{{code}}`. */
  readonly series: Readonly<Record<string, string>>;
}

/** The graphs by the title of their row. */
export const GRAPHS: Readonly<Record<string, readonly Graph[]>> = {
  Inventory: [
    graph("Selectors", "short", {
      "effective {{instance}}": metric("inventory_selectors"),
      "malformed {{instance}}": metric("inventory_malformed_selectors"),
    }),
    graph("Age of the inventory", "s", byInstance(metric("inventory_age_seconds"))),
    graph("Kinds that are not checked", "short", {
      "unknown groups {{instance}}": metric("unknown_ack_groups"),
      "unlisted kinds {{instance}}": metric("unlisted_ack_kinds"),
    }),
  ],
  Webhook: [
    graph("Reviews by outcome", "reqps", ratesBy(["outcome"], "webhook_requests_total")),
    graph("Duration of reviews", "s", percentiles("webhook_request_duration_seconds")),
    graph("Findings by check", "reqps", ratesBy(["code", "severity"], "webhook_findings_total")),
    graph("Resolutions by outcome", "reqps", ratesBy(["outcome"], "webhook_resolutions_total")),
    graph("Failed and rejected requests", "reqps", {
      ...ratesBy(["code"], "webhook_errors_total"),
      "rejected: {{reason}}": `sum by (reason) (${rate("webhook_rejected_calls_total")})`,
      "TLS handshakes": `sum(${rate("webhook_tls_handshake_errors_total")})`,
    }),
    graph(
      "Expiry of the serving certificate", "dateTimeFromNow",
      byInstance(`${metric("webhook_certificate_expiry_timestamp_seconds")} * 1000`),
    ),
    graph("Stale annotations", "short", {
      stale: `max(${metric("webhook_stale_resources")})`, failing: `max(${metric("webhook_failing_refreshes")})`,
    }),
    graph("Updates of stale annotations", "reqps", ratesBy(["outcome"], "webhook_refreshes_total")),
  ],
  Sidecar: [
    graph("Responses by status", "reqps", ratesBy(["code"], "sidecar_requests_total")),
    graph("Duration of responses", "s", percentiles("sidecar_request_duration_seconds")),
    graph("Denials and failures by code", "reqps", {
      ...ratesBy(["code"], "sidecar_refusals_total"),
      "wrong {{kind}}": `sum by (kind) (${rate("sidecar_auth_failures_total")})`,
    }),
    graph("STS calls by result", "reqps", ratesBy(["action", "code"], "sidecar_sts_calls_total")),
    graph("Duration of STS calls", "s", percentiles("sidecar_sts_call_duration_seconds")),
    graph("Session cache hits", "percentunit", {
      hits: `sum(rate(${metric("sidecar_cache_lookups_total", 'result="hit"')}[5m])) / `
        + `sum(${rate("sidecar_cache_lookups_total")})`,
    }),
    graph(
      "STS circuit that is not closed", "short", byInstance(`1 - ${metric("sidecar_circuit_state", 'state="closed"')}`),
    ),
    graph(
      "First expiry of a session", "s",
      byInstance(`min by (instance) (${metric("sidecar_credentials_expiry_seconds")})`),
    ),
    graph("Lateness of refreshes", "s", byInstance(metric("sidecar_refresh_lag_seconds"))),
  ],
  Processes: [
    graph("Resident memory", "bytes", byInstance(ofProcesses("process_resident_memory_bytes"))),
    graph("CPU time", "percentunit", byInstance(ofProcesses("rate(process_cpu_seconds_total[5m])"))),
    graph("Event loop delay, p99", "s", byInstance(ofProcesses("nodejs_eventloop_lag_p99_seconds"))),
  ],
};

function graph(title: string, unit: Graph["unit"], series: Graph["series"]): Graph {
  return { title, unit, series };
}

/** Returns one series for each process. */
function byInstance(expression: string): Graph["series"] {
  return { "{{instance}}": expression };
}

/** Returns the rates of a counter: one series for each combination of the labels. */
function ratesBy(labels: readonly string[], counter: string): Graph["series"] {
  return { [labels.map((label) => `{{${label}}}`).join(" ")]: `sum by (${labels.join(", ")}) (${rate(counter)})` };
}

/** Returns the PromQL selector of a metric. `name` excludes the prefix of all metrics. */
function metric(name: string, labels = ""): string {
  return `${METRIC_PREFIX}${name}${labels === "" ? "" : `{${labels}}`}`;
}

function rate(name: string): string {
  return `rate(${metric(name)}[5m])`;
}

/** Returns the expression of a quantile, such as 0.99, of all series of a histogram. */
function quantile(share: number, histogram: string): string {
  return `histogram_quantile(${share}, sum by (le) (${rate(`${histogram}_bucket`)}))`;
}

function percentiles(histogram: string): Graph["series"] {
  return { p50: quantile(0.5, histogram), p99: quantile(0.99, histogram) };
}

/** Limits the metrics of prom-client to the processes of this project. */
function ofProcesses(expression: string): string {
  return `${expression} and on (job, instance) ${metric("build_info")}`;
}

const COLUMNS = 3;
/** The size of a graph in units of Grafana's grid, which has 24 columns. */
const SIZE = { w: 24 / COLUMNS, h: 8 } as const;

/**
 * Returns a dashboard of Grafana as JSON. A user chooses the data source in the dashboard.
 * Source: https://grafana.com/docs/grafana/latest/dashboards/build-dashboards/view-dashboard-json-model/
 */
export function renderDashboard(): string {
  const panels: object[] = [];
  let y = 0;
  for (const [title, graphs] of Object.entries(GRAPHS)) {
    const gridPos = { x: 0, y, w: 24, h: 1 };
    panels.push({ id: panels.length + 1, type: "row", title, collapsed: false, panels: [], gridPos });
    for (const [index, one] of graphs.entries()) {
      const row = Math.floor(index / COLUMNS);
      panels.push(panel(one, panels.length + 1, { x: (index % COLUMNS) * SIZE.w, y: y + 1 + row * SIZE.h }));
    }
    y += 1 + Math.ceil(graphs.length / COLUMNS) * SIZE.h;
  }
  const datasource = { name: "datasource", type: "datasource", query: "prometheus", label: "Data source" };
  return `${JSON.stringify({
    uid: "ack-role-resolver", title: "ack-role-resolver", tags: ["ack"], schemaVersion: 39, editable: true,
    time: { from: "now-6h", to: "now" }, refresh: "1m", templating: { list: [datasource] }, panels,
  }, null, 2)}\n`;
}

const DATASOURCE = { type: "prometheus", uid: "${datasource}" };

function panel({ title, unit, series }: Graph, id: number, place: { readonly x: number; readonly y: number }): object {
  const targets = Object.entries(series).map(([legendFormat, expr], index) => (
    { refId: String.fromCodePoint(65 + index), datasource: DATASOURCE, expr, legendFormat }
  ));
  return {
    id, type: "timeseries", title, datasource: DATASOURCE, targets,
    fieldConfig: { defaults: { unit }, overrides: [] }, gridPos: { ...SIZE, ...place },
  };
}
