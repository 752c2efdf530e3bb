import type { TemplateContext } from "../core/context.ts";
import { type FieldPath, type JsonObject, valueAt } from "../formats/json.ts";
import { opensPlaceholder } from "../formats/names.ts";
import { quote } from "../formats/text.ts";
import { readSelectorSpec } from "../core/iamroleselector.ts";
import type { Fault, QuickCheck } from "../core/check.ts";
import { by, set } from "../core/repair.ts";

/** An IAMRoleSelector that is a template in another object. */
interface SelectorTemplate {
  readonly object: JsonObject;
  readonly template: TemplateContext;
}

/** An expression of kro that is equal for all instances in a namespace. */
const OF_NAMESPACE = /\$\{\s*schema\.metadata\.namespace\s*\}/g;
const NAME: FieldPath = ["metadata", "name"];
const NAMESPACES: FieldPath = ["spec", "namespaceSelector"];

/** The expression of kro for the name of the instance, and the label with it that kro sets on each object. */
const OF_INSTANCE_NAME = "${schema.metadata.name}";
const INSTANCE_LABEL: FieldPath = ["spec", "resourceLabelSelector", "matchLabels", { key: "kro.run/instance-name" }];

/** https://github.com/aws-samples/appmod-blueprints/issues/813 */
export const IRS_53: QuickCheck<SelectorTemplate> = {
  id: "IRS-53",
  severity: "warn",
  reason: "A template creates a selector for each instance. If the selectors of two instances select the same "
    + "resources, controllers reconcile none of them, and if they have the same name, the instances overwrite each "
    + "other. An expression such as the namespace of the instance is the same for two instances in that namespace.",
  fix: "add resourceLabelSelector: {matchLabels: {kro.run/instance-name: \"${schema.metadata.name}\"}}",
  example: "kind: ResourceGraphDefinition\nspec: {resources: [{template: {kind: IAMRoleSelector, metadata: {name: "
    + "'${schema.metadata.name}'},\n  spec: {arn: 'arn:aws:iam::111122223333:role/a', namespaceSelector: {names: "
    + "['${schema.metadata.namespace}']}}}}]}",
  *find({ object, template }): Iterable<Fault> {
    if (!template.isRepeated) return;
    const name = valueAt(object, NAME);
    if (typeof name === "string" && !differs(name)) {
      const message = `each instance of the template creates a selector of the name ${quote(withoutExpression(name))}`;
      const path = opensPlaceholder(name) ? NAME.slice(0, 1) : NAME;
      const repairs = by(set(NAME, `${name}-${OF_INSTANCE_NAME}`));
      const fix = `add the name of the instance to the name, such as ${OF_INSTANCE_NAME}`;
      yield { path, message, fix, repairs };
    }
    if (!selectsByInstance(object, template)) {
      const message = "the selectors of two instances of the template select the same resources";
      yield { path: NAMESPACES, message, fix: IRS_53.fix, repairs: by(set(INSTANCE_LABEL, OF_INSTANCE_NAME)) };
    }
  },
};

/** Whether the instances can have different values. */
function differs(text: string): boolean {
  return opensPlaceholder(text.replaceAll(OF_NAMESPACE, ""));
}

/** Returns a text without an expression, because a finding that quotes one is about a value that is not final. */
function withoutExpression(text: string): string {
  return text.replaceAll(OF_NAMESPACE, "NAMESPACE");
}

/** Whether the selectors of two instances can select different resources. */
function selectsByInstance(object: JsonObject, { isOpen }: TemplateContext): boolean {
  if (isOpen(["spec", "resourceLabelSelector"])) return true;
  const { names = [] } = readSelectorSpec(object).namespaceSelector ?? {};
  if (names.length > 0 && names.every(differs)) return true;
  const texts = WHOLE.map((path) => valueAt(object, path)).filter((value) => typeof value === "string");
  return texts.some(differs) || OF_INSTANCE.some((path) => {
    const value = valueAt(object, path);
    return value !== undefined && differs(JSON.stringify(value));
  });
}

/** The fields that an expression can replace as a whole. */
const WHOLE: readonly FieldPath[] = [["spec"], ["spec", "namespaceSelector"], ["spec", "namespaceSelector", "names"]];
/** The fields that restrict a selector to an instance if any text in them contains an expression. */
const OF_INSTANCE: readonly FieldPath[] = [
  ["spec", "resourceLabelSelector"], ["spec", "namespaceSelector", "labelSelector"],
];
