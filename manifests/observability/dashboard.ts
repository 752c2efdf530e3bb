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
    {
      title: "Selectors", unit: "short",
      series: {
        "effective {{instance}}": metric("inventory_selectors"),
        "malformed {{instance}}": metric("inventory_malformed_selectors"),
      },
    },
    { title: "Age of the inventory", unit: "s", series: { "{{instance}}": metric("inventory_age_seconds") } },
    {
      title: "Kinds that are not checked", unit: "short",
      series: {
        "unknown groups {{instance}}": metric("unknown_ack_groups"),
        "unlisted kinds {{instance}}": metric("unlisted_ack_kinds"),
      },
    },
  ],
  Webhook: [
    {
      title: "Reviews by outcome", unit: "reqps",
      series: { "{{outcome}}": `sum by (outcome) (${rate("webhook_requests_total")})` },
    },
    {
      title: "Duration of reviews", unit: "s",
      series: percentiles("webhook_request_duration_seconds"),
    },
    {
      title: "Findings by check", unit: "reqps",
      series: { "{{code}} {{severity}}": `sum by (code, severity) (${rate("webhook_findings_total")})` },
    },
    {
      title: "Resolutions by outcome", unit: "reqps",
      series: { "{{outcome}}": `sum by (outcome) (${rate("webhook_resolutions_total")})` },
    },
    {
      title: "Failed and rejected requests", unit: "reqps",
      series: {
        "{{code}}": `sum by (code) (${rate("webhook_errors_total")})`,
        "rejected: {{reason}}": `sum by (reason) (${rate("webhook_rejected_calls_total")})`,
        "TLS handshakes": `sum(${rate("webhook_tls_handshake_errors_total")})`,
      },
    },
    {
      title: "Expiry of the serving certificate", unit: "dateTimeFromNow",
      series: { "{{instance}}": `${metric("webhook_certificate_expiry_timestamp_seconds")} * 1000` },
    },
    {
      title: "Stale annotations", unit: "short",
      series: {
        stale: `max(${metric("webhook_stale_resources")})`, failing: `max(${metric("webhook_failing_refreshes")})`,
      },
    },
    {
      title: "Updates of stale annotations", unit: "reqps",
      series: { "{{outcome}}": `sum by (outcome) (${rate("webhook_refreshes_total")})` },
    },
  ],
  Sidecar: [
    {
      title: "Responses by status", unit: "reqps",
      series: { "{{code}}": `sum by (code) (${rate("sidecar_requests_total")})` },
    },
    {
      title: "Duration of responses", unit: "s",
      series: percentiles("sidecar_request_duration_seconds"),
    },
    {
      title: "Denials and failures by code", unit: "reqps",
      series: {
        "{{code}}": `sum by (code) (${rate("sidecar_refusals_total")})`,
        "wrong {{kind}}": `sum by (kind) (${rate("sidecar_auth_failures_total")})`,
      },
    },
    {
      title: "STS calls by result", unit: "reqps",
      series: { "{{action}} {{code}}": `sum by (action, code) (${rate("sidecar_sts_calls_total")})` },
    },
    {
      title: "Duration of STS calls", unit: "s",
      series: percentiles("sidecar_sts_call_duration_seconds"),
    },
    {
      title: "Session cache hits", unit: "percentunit",
      series: {
        hits: `sum(rate(${metric("sidecar_cache_lookups_total", 'result="hit"')}[5m])) / `
          + `sum(${rate("sidecar_cache_lookups_total")})`,
      },
    },
    {
      title: "STS circuit that is not closed", unit: "short",
      series: { "{{instance}}": `1 - ${metric("sidecar_circuit_state", 'state="closed"')}` },
    },
    {
      title: "First expiry of a session", unit: "s",
      series: { "{{instance}}": `min by (instance) (${metric("sidecar_credentials_expiry_seconds")})` },
    },
    {
      title: "Lateness of refreshes", unit: "s",
      series: { "{{instance}}": metric("sidecar_refresh_lag_seconds") },
    },
  ],
  Processes: [
    {
      title: "Resident memory", unit: "bytes",
      series: { "{{instance}}": ofProcesses("process_resident_memory_bytes") },
    },
    {
      title: "CPU time", unit: "percentunit",
      series: { "{{instance}}": ofProcesses("rate(process_cpu_seconds_total[5m])") },
    },
    {
      title: "Event loop delay, p99", unit: "s",
      series: { "{{instance}}": ofProcesses("nodejs_eventloop_lag_p99_seconds") },
    },
  ],
};

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
    for (const [index, graph] of graphs.entries()) {
      const row = Math.floor(index / COLUMNS);
      panels.push(panel(graph, panels.length + 1, { x: (index % COLUMNS) * SIZE.w, y: y + 1 + row * SIZE.h }));
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
