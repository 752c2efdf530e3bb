import { readFile } from "node:fs/promises";
import { test } from "tap";
import { describeMetrics } from "../../../docs/metrics.ts";
import { GRAPHS } from "../../../manifests/observability/dashboard.ts";
import { ALERTS } from "../../alert-rules.ts";

const { webhook, sidecar, certificates } = describeMetrics();
const metrics = [...webhook, ...sidecar, ...certificates];
const expressions = [
  ...ALERTS.map(({ name, expression }) => [name, expression] as const),
  ...Object.values(GRAPHS).flat().flatMap(({ title, series }) => (
    Object.values(series).map((expression) => [title, expression] as const)
  )),
];

/** Returns the metrics in an expression that the servers do not expose, and labels that the metrics do not have. */
function unknownNames(expression: string): string[] {
  const selectors = expression.matchAll(/(ack_role_resolver_\w+)(?:\{([^}]*)\})?/g);
  return [...selectors].flatMap(([, name = "", matchers = ""]) => {
    const metric = metrics.find((one) => {
      const suffixes = one.type === "histogram" ? ["_bucket", "_count", "_sum"] : [""];
      return suffixes.some((suffix) => one.name + suffix === name);
    });
    if (metric === undefined) return [name];
    const labels = [...matchers.matchAll(/(\w+)[=!]~?"/g)].map(([, label = ""]) => label);
    return labels.filter((label) => !metric.labels.includes(label)).map((label) => `${name}{${label}}`);
  });
}

test("the alerts and graphs use only metrics and labels that the servers expose", (t) => {
  for (const [title, expression] of expressions) t.same(unknownNames(expression), [], title);
  t.same(
    unknownNames('ack_role_resolver_gone > 0 and ack_role_resolver_build_info{place="a"}'),
    ["ack_role_resolver_gone", "ack_role_resolver_build_info{place}"],
  );
  t.end();
});

test("the runbook has a section with an effect, a cause and a fix for each alert, and no other section", async (t) => {
  const page = await readFile(new URL("../../../docs/runbook.md", import.meta.url), "utf8");
  const sections = page.split(/^### /m).slice(1).map((text) => text.split(/^## /m)[0] ?? "");
  t.same(new Set(sections.map((text) => text.split("\n")[0])), new Set(ALERTS.map(({ name }) => name)));
  for (const section of sections) t.match(section, /\nEffect: [^]+\nCause: [^]+\nFix: /);
});

test("the summary of an alert uses only labels that its expression returns", (t) => {
  for (const { name, expression, summary } of ALERTS) {
    const [, grouped] = /^sum by \(([^)]*)\)/.exec(expression) ?? [];
    const used = [...summary.matchAll(/\$labels\.(\w+)/g)].map(([, label = ""]) => label);
    if (grouped !== undefined) t.same(used.filter((label) => !grouped.split(", ").includes(label)), [], name);
    if (/^(?:absent|histogram_quantile)\(/.test(expression)) t.same(used, [], name);
  }
  t.end();
});

test("each alert has a severity and the section of the runbook", (t) => {
  t.ok(ALERTS.length > 30);
  for (const { name, severity, runbook } of ALERTS) {
    t.match(name, /^ACKRoleResolver\w+$/);
    t.match(severity, /^(critical|warning)$/, name);
    t.equal(runbook, `docs/runbook.md#${name.toLowerCase()}`);
  }
  t.end();
});
