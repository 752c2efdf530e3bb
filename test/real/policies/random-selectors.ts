import * as fc from "fast-check";
import { judgeSelector } from "../../../shared/ack/judge-selector.ts";
import { SELECTOR_ANNOTATIONS } from "../../../shared/core/annotation-keys.ts";
import type { Runtime } from "../../../shared/core/context.ts";
import { field, type JsonObject } from "../../../shared/formats/json.ts";
import { type SelectorFixture, selectorFixtures } from "../../fixtures/selectors/selector-fixtures.ts";
import { selectorObject } from "../../shared/objects.ts";
import { plain } from "./json.ts";

const FIELDS = ["arn", "namespaceSelector", "resourceTypeSelector", "resourceLabelSelector"] as const;

/** The fixtures that the API server stores as they are: their faults are faults of values, not of the schema. */
function storable(of: Runtime): readonly SelectorFixture[] {
  return selectorFixtures().filter(({ object, runtime }) => (
    (runtime === "ack" || of === "extended") && hasValidShape(object, runtime)
  ));
}

function hasValidShape(object: JsonObject, runtime: Runtime): boolean {
  return judgeSelector(object, { origin: "cluster", runtime }).faults.every(({ code }) => code !== "IRS-00");
}

/** Returns an arbitrary that combines the values of the fixtures: one value for each field and each annotation. */
export function randomSelectors(runtime: Runtime = "ack"): fc.Arbitrary<JsonObject> {
  const objects = storable(runtime).map(({ object }) => object);
  const specs = objects.map((object) => field(object, "spec"));
  const valuesOf = (parents: readonly unknown[], key: string): readonly unknown[] => {
    const values = parents.map((parent) => field(parent, key)).filter((value) => isStorable(value, runtime));
    return [...new Map(values.map((value) => [JSON.stringify(value), value])).values()];
  };
  const spec = fc.record(Object.fromEntries(FIELDS.map((name) => (
    [name, fc.option(fc.constantFrom(...valuesOf(specs, name)), { nil: undefined, freq: name === "arn" ? 20 : 2 })]
  ))));
  const annotations = objects.map((object) => field(field(object, "metadata"), "annotations"));
  const annotation = fc.record(Object.fromEntries([...SELECTOR_ANNOTATIONS].map((key) => {
    const values = [...valuesOf(annotations, key), ...(MORE[key] ?? [])];
    const missing = { weight: 7, arbitrary: fc.constant(undefined) };
    return [key, fc.oneof(missing, { weight: values.length === 0 ? 0 : 3, arbitrary: fc.constantFrom(...values, "") })];
  })));
  return fc.record({ spec, annotation }).map(({ spec: chosen, annotation: set }) => (
    plain(selectorObject("random", chosen, { annotations: set }))
  ));
}

/** Additional values of annotations, because the fixtures contain one fault each. */
const MORE: Readonly<Record<string, readonly string[]>> = {
  "ack-role-resolver.io/allow": [
    "IRS-15", "IRS-13b", " IRS-15 ,IRS-13b", "\ufeffIRS-15", ",", `${"x,".repeat(99)}IRS-15`,
    `${"x,".repeat(100)}IRS-15`,
  ],
  "ack-role-resolver.io/session-tags": [
    "", "a=b", "a", "=b", " a = b ,c=d=e", "a=1,A=2", "AWS:x=1", `${"k".repeat(129)}=v`, `k=${"v".repeat(257)}`,
    `k={selector}${"v".repeat(257)}`, "k={namespace}", "k={kind}-{group}", "k={nope}", "k={}", "k=a!b", "k=ä", "ä=b",
    "k=\u00a0v", "\ufeffk=v", Array.from({ length: 51 }, (_, i) => `k${i}=v`).join(","), "k={account}", "{group}=v",
  ],
  "ack-role-resolver.io/duration-seconds": ["900", "899", "43200", "43201", "1e3", " 900", ""],
  "ack-role-resolver.io/external-id": ["x", "xy", "a b", "x".repeat(1225)],
  "ack-role-resolver.io/source-identity": ["AWS:me", "me", "m"],
};

/** Whether a CRD stores the value unchanged: no CRD stores apiVersion, and ACK's CRD has no matchExpressions. */
function isStorable(value: unknown, runtime: Runtime): boolean {
  const json = JSON.stringify(value) ?? "null";
  return !json.includes("null") && !json.includes('"apiVersion"')
    && (runtime === "extended" || !json.includes('"matchExpressions"'));
}
