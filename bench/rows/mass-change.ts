import { atLeast, atMost, type Figure, quantile, single } from "../figure.ts";
import type { Row } from "../row.ts";
import { type MassChange, type Phase, simulate } from "../scale/mass-change.ts";

const SIZE: MassChange = { resources: 20_000, writes: 1_500, calmMs: 30_000 };
const QUICK_SIZE: MassChange = { resources: 60, writes: 5, calmMs: 500 };

function latency(share: number): (phase: Phase) => number {
  return ({ latenciesMs }) => quantile(latenciesMs, share);
}

/** The floor is the same cluster before the change. */
export const MASS_CHANGE_ROW: Row = {
  name: "mass-change", title: "a label of a namespace changes the role of 20,000 resources",
  measure: async (stage) => {
    const size = stage.isQuick ? QUICK_SIZE : SIZE;
    const { filledPerSecond, calm, change, changeBack } = await simulate(stage, size);
    const changes = [change, changeBack];
    const { first, last } = change;
    const rate = (last.written - first.written) / (last.seconds - first.seconds);
    const compared = (name: string, unit: Figure["unit"], of: (phase: Phase) => number): Figure =>
      ({ name, unit, ours: changes.map(of), floor: changes.map(() => of(calm)) });
    return [
      single(
        "until all 20,000 annotations are true, from the rate", first.seconds + SIZE.resources / rate, "s",
        atMost(900, "value"),
      ),
      single("until the first annotation is true", first.seconds, "s", atMost(12, "value")),
      single("annotations written", rate, "/s", atLeast(22.5, "value")),
      single(
        "until the annotation of a resource in another namespace is true, meanwhile",
        Math.max(...changes.map(({ otherSeconds }) => otherSeconds)), "s", atMost(10, "value"),
      ),
      single("after the change back, until all are true again", changeBack.last.seconds, "s"),
      {
        name: "requests of the webhook", unit: "/s", goal: atMost(30, "value"),
        ours: changes.map(({ spent: { requests, atMs } }) => (requests * 1_000) / atMs),
      },
      single(
        "requests rejected by priority and fairness", change.spent.rejected + changeBack.spent.rejected, "requests",
        atMost(0, "value"),
      ),
      compared("delay by priority and fairness, mean", "us", ({ spent: { queuedMs, requests }, latenciesMs }) => (
        (queuedMs * 1_000) / (requests + latenciesMs.length)
      )),
      { ...compared("creation by a bystander, p50", "ms", latency(0.5)), goal: atMost(1.3, "ratio") },
      { ...compared("creation by a bystander, p99", "ms", latency(0.99)), goal: atMost(1.3, "ratio") },
      {
        name: "response to the change of the label", unit: "ms", ours: changes.map((one) => one.responseMs),
        goal: atMost(1_000, "value"),
      },
      compared("busy processors of the API server and etcd", "cores", ({ spent }) => spent.processorMs / spent.atMs),
      compared("busy processors of the webhook", "cores", ({ spent, webhookMs }) => webhookMs / spent.atMs),
      compared("memory of the webhook", "MB", ({ webhookMB }) => webhookMB),
      single("creations while the namespace is filled", filledPerSecond, "/s"),
    ];
  },
};
