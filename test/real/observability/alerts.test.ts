import { writeFile } from "node:fs/promises";
import path from "node:path";
import { test } from "tap";
import { stringify } from "yaml";
import { type Alert, ALERTS, RULES } from "../../alert-rules.ts";
import { runProgram } from "../../programs/run-program.ts";
import { PROMETHEUS } from "../../programs/prometheus.ts";
import { findPrograms } from "../find-programs.ts";
import { ALERT_CASES, HEALTHY } from "./alert-cases.ts";

const EVALUATED_AFTER = "20m";
const alerts = ALERTS.map((alert) => ({ ...alert, shortName: alert.name.replace("ACKRoleResolver", "") }));

/** Returns a test in the format of `promtool test rules`. `expected` are the alerts that fire. */
function promtoolTest(
  name: string, series: Readonly<Record<string, string>>, alert: Alert, expected: readonly object[],
): object {
  return {
    name, interval: "1m",
    input_series: Object.entries(series).map(([one, values]) => ({ series: one, values })),
    alert_rule_test: [{ eval_time: EVALUATED_AFTER, alertname: alert.name, exp_alerts: expected }],
  };
}

function firing(alert: (typeof alerts)[number]): object {
  const { series = {}, labels = {}, summary = "" } = ALERT_CASES[alert.shortName] ?? {};
  const { runbook, severity } = alert;
  const expected = { exp_labels: { ...labels, severity }, exp_annotations: { summary, runbook } };
  return promtoolTest(`${alert.name} fires`, series, alert, [expected]);
}

test("promtool accepts the rules, and each alert fires for its case but not for healthy servers", async (t) => {
  const folders = await findPrograms(t, PROMETHEUS);
  if (folders === null) return;
  t.same(Object.keys(ALERT_CASES).toSorted(), alerts.map(({ shortName }) => shortName).toSorted());
  const tests = alerts.flatMap((alert) => [
    firing(alert), promtoolTest(`${alert.name} does not fire`, HEALTHY, alert, []),
  ]);
  const cwd = t.testdir({});
  const file = path.join(cwd, "tests.yaml");
  await writeFile(file, stringify({ rule_files: [RULES], evaluation_interval: "1m", tests }));
  const promtool = path.join(folders[0], "promtool");
  t.match(await runProgram(promtool, ["check", "rules", RULES], { cwd }), { code: 0 });
  const { code, stdout, stderr } = await runProgram(promtool, ["test", "rules", file], { cwd });
  t.equal(code, 0, stdout + stderr);
});
