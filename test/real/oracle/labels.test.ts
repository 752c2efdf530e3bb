import * as fc from "fast-check";
import { labelsSatisfy } from "../../../shared/decisions/kubernetes/label-selector.ts";
import {
  labelKeyFaults, labelValueFaults, namespaceNameFaults, subdomainFaults,
} from "../../../shared/decisions/kubernetes/names.ts";
import { decodeSelector } from "../../../shared/decisions/selectors/decode.ts";
import { labels, labelSelector } from "../../shared/decisions/arbitraries.ts";
import { ROLE, selectorObject } from "../../shared/decisions/objects.ts";
import { parameters } from "../../shared/decisions/property.ts";
import { withOracle } from "./ask.ts";

interface LabelSelection {
  readonly valid: boolean;
  readonly matches: readonly boolean[];
}

const labelCases = fc.record({ selector: labelSelector, labels: fc.array(labels, { minLength: 1, maxLength: 4 }) });

function oursOf({ selector, labels: all }: { readonly selector: object; readonly labels: readonly Readonly<Record<string, string>>[] }): LabelSelection {
  const { effective: decoded, faults } = decodeSelector(
    selectorObject("s", { arn: ROLE, resourceTypeSelector: [{ kind: "Bucket" }], resourceLabelSelector: selector }),
    { runtime: "extended", origin: "cluster" },
  );
  if (decoded === null) return { valid: !faults.some(({ check }) => check.id === "IRS-11"), matches: all.map(() => false) };
  const { resourceLabels } = decoded;
  return { valid: true, matches: all.map((carried) => resourceLabels === null || labelsSatisfy(new Map(Object.entries(carried)), resourceLabels)) };
}

withOracle("extended label selectors are valid, and hold, exactly as metav1.LabelSelectorAsSelector has it", async (t, ask) => {
  const all = fc.sample(labelCases, parameters(t, 8000));
  const answers = await ask<LabelSelection>(all.map((one) => ({ labelSelector: one })));
  const differing = all.flatMap((one, i) => (JSON.stringify(oursOf(one)) === JSON.stringify(answers[i]) ? [] : [{ case: one, ours: oursOf(one), theirs: answers[i] }]));
  t.same(differing.slice(0, 3), [], `${differing.length} of ${all.length} cases differ`);
  const valid = answers.filter((answer) => answer.valid).length;
  t.ok(valid > 1000 && all.length - valid > 400, `${valid} of ${all.length} were valid`);
});

interface NameAnswer {
  readonly qualifiedName: boolean;
  readonly labelValue: boolean;
  readonly dnsLabel: boolean;
  readonly dnsSubdomain: boolean;
}

const EDGES = [1, 2, 62, 63, 64, 65, 252, 253, 254];
const character = fc.constantFrom("a", "Z", "0", "-", ".", "_", "/", "é", " ", "\n", "*", "😀");
/** Short texts of difficult characters, and texts about as long as the limits. */
const texts = fc.oneof(
  fc.array(character, { maxLength: 6 }).map((all) => all.join("")),
  fc.tuple(fc.constantFrom("a", "A.", "a.b", "a-"), fc.constantFrom(...EDGES), character, fc.constantFrom("", "/", "/x", "a/"))
    .map(([unit, length, last, side]) => (side === "a/" ? side : "") + unit.repeat(length).slice(0, length - 1) + last + (side === "a/" ? "" : side)),
);

withOracle("names and label keys and values are taken exactly as k8s.io/apimachinery takes them", async (t, ask) => {
  const all = fc.sample(texts, parameters(t, 30_000));
  const [answers = []] = await ask<readonly NameAnswer[]>([{ names: all }]);
  const ours = all.map((text): NameAnswer => ({
    qualifiedName: labelKeyFaults(text).length === 0, labelValue: labelValueFaults(text).length === 0,
    dnsLabel: namespaceNameFaults(text).length === 0, dnsSubdomain: subdomainFaults(text).length === 0,
  }));
  const differing = all.flatMap((text, i) => (JSON.stringify(ours[i]) === JSON.stringify(answers[i]) ? [] : [{ text, ours: ours[i], theirs: answers[i] }]));
  t.same(differing.slice(0, 3), [], `${differing.length} of ${all.length} texts differ`);
  for (const rule of ["qualifiedName", "labelValue", "dnsLabel", "dnsSubdomain"] as const) {
    const taken = answers.filter((answer) => answer[rule]).length;
    t.ok(taken > 500 && taken < all.length - 500, `${rule}: ${taken} of ${all.length} were taken`);
  }
});
