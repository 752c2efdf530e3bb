import * as fc from "fast-check";
import { judgeSelector } from "../../../shared/ack/judge-selector.ts";
import { satisfies } from "../../../shared/formats/label-selector.ts";
import {
  labelKeyFaults, labelValueFaults, namespaceNameFaults, subdomainFaults,
} from "../../../shared/formats/names.ts";
import { labels, labelSelector } from "../../shared/arbitraries.ts";
import { ROLE, selectorObject } from "../../shared/objects.ts";
import { parameters } from "../../shared/property.ts";
import { withOracle } from "./with-oracle.ts";

interface LabelSelection {
  readonly valid: boolean;
  readonly matches: readonly boolean[];
}

const labelCases = fc.record({ selector: labelSelector, labels: fc.array(labels, { minLength: 1, maxLength: 4 }) });

interface LabelCase {
  readonly selector: object;
  readonly labels: readonly Readonly<Record<string, string>>[];
}

/** Returns the result of this project's code, to compare with the oracle. */
function selectLabels({ selector, labels: all }: LabelCase): LabelSelection {
  const { effective: decoded, faults } = judgeSelector(
    selectorObject("s", { arn: ROLE, resourceTypeSelector: [{ kind: "Bucket" }], resourceLabelSelector: selector }),
    { runtime: "extended", origin: "cluster" },
  );
  if (decoded === null) {
    return { valid: !faults.some(({ code }) => code === "IRS-11"), matches: all.map(() => false) };
  }
  const { resourceLabels } = decoded;
  const isMatch = (one: Readonly<Record<string, string>>): boolean =>
    resourceLabels === null || satisfies(new Map(Object.entries(one)), resourceLabels);
  return { valid: true, matches: all.map(isMatch) };
}

withOracle("validates and matches extended label selectors like metav1.LabelSelectorAsSelector", async (t, query) => {
  const all = fc.sample(labelCases, parameters(t, 8000));
  const results = await query<LabelSelection>(all.map((one) => ({ labelSelector: one })));
  const differing = all.flatMap((one, i) => {
    const [actual, expected] = [selectLabels(one), results[i]];
    return JSON.stringify(actual) === JSON.stringify(expected) ? [] : [{ case: one, actual, expected }];
  });
  t.same(differing.slice(0, 3), [], `${differing.length} of ${all.length} cases differ`);
  const valid = results.filter((result) => result.valid).length;
  t.ok(valid > 1000 && all.length - valid > 400, `${valid} of ${all.length} were valid`);
});

interface NameResult {
  readonly qualifiedName: boolean;
  readonly labelValue: boolean;
  readonly dnsLabel: boolean;
  readonly dnsSubdomain: boolean;
}

const EDGES = [1, 2, 62, 63, 64, 65, 252, 253, 254];
const character = fc.constantFrom("a", "Z", "0", "-", ".", "_", "/", "é", " ", "\n", "*", "😀");
/** Generates short texts with special characters, and texts whose length is near the limits. */
const texts = fc.oneof(
  fc.array(character, { maxLength: 6 }).map((all) => all.join("")),
  fc.tuple(
    fc.constantFrom("a", "A.", "a.b", "a-"), fc.constantFrom(...EDGES), character, fc.constantFrom("", "/", "/x", "a/"),
  ).map(([unit, length, last, side]) => {
    const name = unit.repeat(length).slice(0, length - 1) + last;
    return side === "a/" ? side + name : name + side;
  }),
);

withOracle("validates names, label keys and label values like k8s.io/apimachinery", async (t, query) => {
  const all = fc.sample(texts, parameters(t, 30_000));
  const [expected = []] = await query<readonly NameResult[]>([{ names: all }]);
  const actual = all.map((text): NameResult => ({
    qualifiedName: labelKeyFaults(text).length === 0, labelValue: labelValueFaults(text).length === 0,
    dnsLabel: namespaceNameFaults(text).length === 0, dnsSubdomain: subdomainFaults(text).length === 0,
  }));
  const differing = all.flatMap((text, i) => (
    JSON.stringify(actual[i]) === JSON.stringify(expected[i])
      ? []
      : [{ text, actual: actual[i], expected: expected[i] }]
  ));
  t.same(differing.slice(0, 3), [], `${differing.length} of ${all.length} texts differ`);
  for (const rule of ["qualifiedName", "labelValue", "dnsLabel", "dnsSubdomain"] as const) {
    const valid = expected.filter((result) => result[rule]).length;
    t.ok(valid > 500 && valid < all.length - 500, `${rule}: ${valid} of ${all.length} were valid`);
  }
});
