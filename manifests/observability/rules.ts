import { renderYAML } from "../render.ts";
import { type Alert, ALERTS } from "./alerts.ts";

/** Returns the alerts as a rule file of Prometheus. The content is also valid as the spec of a PrometheusRule. */
export function renderRules(): string {
  const groups = Object.entries(ALERTS).map(([group, alerts]) => ({
    name: `ack-role-resolver-${group}`, rules: alerts.map(rule),
  }));
  return renderYAML([{ groups }]);
}

/** Returns the name of the alert in Prometheus. */
export function alertName({ name }: Pick<Alert, "name">): string {
  return `ACKRoleResolver${name}`;
}

function rule(alert: Alert): object {
  const { severity, expression, summary } = alert;
  return {
    alert: alertName(alert), expr: expression, for: alert.for, labels: { severity },
    annotations: { summary, runbook: `docs/runbook.md#${alertName(alert).toLowerCase()}` },
  };
}
