import type { MapFinding } from "../shared/diagnosis/role-map/role-map.ts";
import { h } from "./dom.ts";
import type { Model } from "./view/model.ts";

/** A record of the map that says what is wrong, such as a reason or a selector. */
interface Explained {
  readonly findings: readonly number[];
}

/** Returns what is wrong, and how to repair it: each finding with its fix. */
export function causeItems(model: Model, { findings }: Explained): HTMLElement[] {
  return findings.flatMap((index) => model.map.findings[index] ?? []).map(findingItem);
}

function findingItem({ code, severity, path, message, fix }: MapFinding): HTMLElement {
  return h(
    "div", { class: `finding ${severity}` },
    // A path of one step, such as `spec`, says nothing more.
    h("p", {}, h("b", {}, code), " ", h("bdi", {}, message),
      /[.[]/.test(path) ? h("bdi", { class: "path" }, path) : null),
    h("p", { class: "fix" }, h("b", {}, "Fix: "), h("bdi", {}, fix)),
  );
}
