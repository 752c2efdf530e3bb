import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { field, stringAt } from "../shared/formats/json.ts";

export const RULES = new URL("../manifests/observability/rules.yaml", import.meta.url).pathname;

/** An alert of rules.yaml. */
export interface Alert {
  /** The name in Prometheus, such as `ACKRoleResolverWebhookDown`. */
  readonly name: string;
  readonly severity: string;
  readonly expression: string;
  readonly summary: string;
  readonly runbook: string;
}

export const ALERTS: readonly Alert[] = listAt(parse(readFileSync(RULES, "utf8")), "groups")
  .flatMap((group) => listAt(group, "rules")).map((rule) => ({
    name: stringAt(rule, "alert") ?? "", expression: stringAt(rule, "expr") ?? "",
    severity: stringAt(rule, "labels", "severity") ?? "", summary: stringAt(rule, "annotations", "summary") ?? "",
    runbook: stringAt(rule, "annotations", "runbook") ?? "",
  }));

function listAt(value: unknown, key: string): readonly unknown[] {
  const list = field(value, key);
  return Array.isArray(list) ? list : [];
}
