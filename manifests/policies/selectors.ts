import { SELECTOR } from "../../shared/ack/kinds.ts";
import { IRS_04, IRS_07 } from "../../shared/ack/selector-account.ts";
import { IRS_15, IRS_48 } from "../../shared/ack/selector-breadth.ts";
import { IRS_01, IRS_02, IRS_03 } from "../../shared/ack/selector-role.ts";
import { IRS_42, IRS_43, IRS_44, IRS_45, IRS_46 } from "../../shared/ack/selector-session.ts";
import { ROLE_ARN } from "../../shared/core/value-types.ts";
import { SELECTOR_ANNOTATIONS, SESSION_TAGS_ANNOTATION } from "../../shared/core/annotation-keys.ts";
import type { Runtime } from "../../shared/core/context.ts";
import { WEBHOOK } from "../../shared/core/installation.ts";
import { LIMITS } from "../../shared/core/limits.ts";
import {
  anyCase, derivedVariables, fieldVariables, not, read, regexp, type State, text, texts, trimmed, unlessStored,
  type Variable,
} from "../../shared/formats/cel.ts";
import { annotationPath, formatFieldPath } from "../../shared/formats/json.ts";
import { TEMPLATE, TEMPLATES } from "../../shared/core/session-annotations.ts";
import { MAX_TAGS, TAG_KEY_LIMITS, TAG_PUNCTUATION, TAG_VALUE_LIMITS } from "../../shared/core/session.ts";
import { CREATE_AND_UPDATE, rulesOf } from "../webhooks.ts";
import {
  isWaived, METADATA, type Policy, type PolicyCheck, policyCheckOf, type PolicyLists, waiverVariables,
} from "./policy.ts";
import { MATCH_VARIABLES, matchChecks } from "./selector-matches.ts";
import { CHANGES_MORE_THAN_BOOKKEEPING, NOT_BEING_DELETED } from "../../shared/core/conditions.ts";

const PATH = "spec.arn";

/** The settings that limit the roles. An empty list allows every role. */
function roleVariables({ allowedAccounts, allowedPartitions }: PolicyLists): readonly Variable[] {
  return [
    { name: "allowedPartitions", expression: allowedPartitions },
    { name: "allowedAccounts", expression: allowedAccounts },
    ...derivedVariables("isRole", (state) => ROLE_ARN.cel(read("arn", state))),
  ];
}

/** Returns an expression: whether the role is in an allowed account and in the partition of the controllers. */
function isAllowed(state: State): string {
  const isOneOf = (index: number, allowed: string): string => (
    `(size(${allowed}) == 0 || ${read("arn", state)}.split(":")[${index}] in ${allowed})`
  );
  const rules = [isOneOf(1, read("allowedPartitions")), isOneOf(4, read("allowedAccounts"))];
  return [not(read("isRole", state)), rules.join(" && ")].join(" || ");
}

const HAS_OLD_ARN = "oldObject != null && has(oldObject.spec) && has(oldObject.spec.arn)";

/** The checks of the role. */
const ROLE_CHECKS: readonly PolicyCheck[] = [
  policyCheckOf(IRS_01), policyCheckOf(IRS_02), policyCheckOf(IRS_03, () => read("isRole")),
  {
    check: IRS_04,
    admits: unlessStored(isAllowed),
    path: PATH,
    message: "the role is not in an allowed account and in the partition of the controllers",
  },
  {
    check: IRS_07,
    admits: `!(${HAS_OLD_ARN}) || has(object.spec) && has(object.spec.arn) && object.spec.arn == oldObject.spec.arn`,
    path: PATH,
    message: "the role is changed or removed",
  },
];

/** A list or map that restricts a selector, and the maximum number of its entries. */
type Restriction = readonly [variable: string, path: string, empty: "[]" | "{}", limit: number];

const { selectorNamespaces, selectorTypes, selectorLabels } = LIMITS;
const RESTRICTIONS: readonly Restriction[] = [
  ["names", "spec.namespaceSelector.names", "[]", selectorNamespaces.value],
  ["types", "spec.resourceTypeSelector", "[]", selectorTypes.value],
  ["namespaceLabels", "spec.namespaceSelector.labelSelector.matchLabels", "{}", selectorLabels.value],
  ["resourceLabels", "spec.resourceLabelSelector.matchLabels", "{}", selectorLabels.value],
];
/** The fields that only the CRD for `--runtime extended` defines. */
const EXPRESSIONS: readonly Restriction[] = [
  ["namespaceExpressions", "spec.namespaceSelector.labelSelector.matchExpressions", "[]", selectorLabels.value],
  ["resourceExpressions", "spec.resourceLabelSelector.matchExpressions", "[]", selectorLabels.value],
];

function restrictionsOf(runtime: Runtime): readonly Restriction[] {
  return runtime === "extended" ? [...RESTRICTIONS, ...EXPRESSIONS] : RESTRICTIONS;
}

/** Returns an expression: whether no list, map or annotation of the selector exceeds its limit. */
function isWithinLimits(state: State, runtime: Runtime): string {
  const maps = ["labels", "annotations"].map((name) => [name, LIMITS.metadataEntries.value] as const);
  const limits = [...restrictionsOf(runtime).map(([name, , , limit]) => [name, limit] as const), ...maps];
  const sizes = limits.map(([name, limit]) => `size(${read(name, state)}) <= ${limit}`);
  const lengths = `${texts(SELECTOR_ANNOTATIONS)}.all(key, `
    + `size(${read("annotations", state)}[?key].orValue("")) <= ${LIMITS.annotationCharacters.value})`;
  return [...sizes, lengths].join(" && ");
}

function isRestricted(state: State, runtime: Runtime): string {
  return restrictionsOf(runtime).map(([name]) => `size(${read(name, state)}) > 0`).join(" || ");
}

const WITHIN_LIMITS: PolicyCheck = {
  check: IRS_48,
  admits: read("isWithinLimits"),
  path: "spec",
  message: "a list, a map or an annotation of the selector exceeds its limit (docs/limits.md)",
};

function breadthCheck(runtime: Runtime): PolicyCheck {
  return {
    check: IRS_15,
    admits: `${unlessStored((state) => isRestricted(state, runtime))} || ${isWaived(IRS_15)}`,
    path: "spec",
    message: "the selector selects every resource in every namespace",
  };
}

/**
 * Returns a function that runs a check only if a variable is true. No check runs on a selector that exceeds a limit,
 * which IRS-48 denies. A check that reads each entry of a list does not run if the stored selector exceeds a limit
 * either. This bounds the cost of its expression.
 */
function only(variable: "isWithinLimits" | "isComparable"): (check: PolicyCheck) => PolicyCheck {
  return (check) => ({ ...check, admits: `${not(read(variable))} || (${check.admits})` });
}

/** Returns the policy for IAMRoleSelectors. */
export function selectorPolicy(lists: PolicyLists, runtime: Runtime): Policy {
  const ofFields = [...ROLE_CHECKS, breadthCheck(runtime)].map(only("isWithinLimits"));
  const ofEntries = [...matchChecks(runtime), ...SESSION_CHECKS].map(only("isComparable"));
  return {
    name: "iamroleselectors",
    repeats: `iamroleselectors.validate.${WEBHOOK.domain}`,
    rules: rulesOf(SELECTOR, CREATE_AND_UPDATE),
    conditions: [NOT_BEING_DELETED, CHANGES_MORE_THAN_BOOKKEEPING],
    variables: [
      ...METADATA, ...fieldVariables("arn", "spec.arn", '""'),
      ...restrictionsOf(runtime).flatMap(([name, path, empty]) => fieldVariables(name, path, empty)),
      ...derivedVariables("isWithinLimits", (state) => isWithinLimits(state, runtime)),
      { name: "isComparable", expression: `${read("isWithinLimits")} && ${read("isWithinLimits", "old")}` },
      ...roleVariables(lists), ...MATCH_VARIABLES, ...SESSION_VARIABLES, ...waiverVariables(lists),
    ],
    checks: [...ofFields, ...ofEntries, WITHIN_LIMITS],
  };
}

const IS_RESERVED = text(`^${anyCase("aws")}:`);

/**
 * Session tags may contain every letter, space and number of Unicode. The patterns here only check ASCII characters,
 * because the API server and Node.js can know different versions of Unicode.
 */
const CHARACTER = `[A-Za-z0-9 ${TAG_PUNCTUATION}]|[^\\x00-\\x7F]`;
const TAG_KEY = text(`^(${CHARACTER})*$`);
const TAG_VALUE = text(`^(${CHARACTER}|${TEMPLATE.source})*$`);

/** Each tag as [KEY] or [KEY, VALUE]. If the annotation has too many tags, the last element contains all others. */
function tagParts(state: State): string {
  const annotations = read("annotations", state);
  const key = text(SESSION_TAGS_ANNOTATION);
  return `${key} in ${annotations} `
    + `? ${annotations}[${key}].split(",", ${MAX_TAGS + 2}).map(tag, tag.split("=", 2)) : []`;
}

function areTags(state: State): string {
  const [tags, keys] = [read("tags", state), read("tagKeys", state)];
  const key = trimmed("tag[0]");
  const value = trimmed("tag[1]");
  return [
    `size(${tags}) <= ${MAX_TAGS}`,
    `${tags}.all(tag, size(tag) == 2 && `
    + `size(${key}) >= ${TAG_KEY_LIMITS.min} && size(${key}) <= ${TAG_KEY_LIMITS.max} && `
    + `${key}.matches(${TAG_KEY}) && !${key}.matches(${IS_RESERVED}) && ${value}.matches(${TAG_VALUE}) && `
    + `size(${value}) - ${value}.findAll(${regexp(TEMPLATE)}).map(template, size(template)).sum() <= `
    + `${TAG_VALUE_LIMITS.max})`,
    `${keys}.all(key, ${keys}.indexOf(key) == ${keys}.lastIndexOf(key))`,
  ].join(" && ");
}

/** The templates that have a value only under a condition. */
const TEMPLATE_CONDITIONS: Readonly<Record<string, (state: State) => string>> = {
  kind: (state) => {
    const kinds = read("kinds", state);
    return `size(${kinds}) > 0 && ${kinds}[0] != "" && ${kinds}.all(kind, kind == ${kinds}[0])`;
  },
};

function areTemplates(state: State): string {
  const annotation = `${read("annotations", state)}[?${text(SESSION_TAGS_ANNOTATION)}].orValue("")`;
  const names = [...TEMPLATES.keys()];
  const always = texts(names.filter((name) => !(name in TEMPLATE_CONDITIONS)).map((name) => `{${name}}`));
  const conditions = names.flatMap((name) => {
    const condition = TEMPLATE_CONDITIONS[name];
    return condition === undefined ? [] : [`template == ${text(`{${name}}`)} && ${condition(state)}`];
  });
  return `${annotation}.findAll(${regexp(TEMPLATE)}).all(template, `
    + `${[`template in ${always}`, ...conditions].join(" || ")})`;
}

export const SESSION_VARIABLES: readonly Variable[] = [
  ...derivedVariables("kinds", (state) => `${read("types", state)}.map(type, type.?kind.orValue(""))`),
  ...derivedVariables("tags", tagParts),
  ...derivedVariables("tagKeys", (state) => `${read("tags", state)}.map(tag, ${trimmed("tag[0]")}.lowerAscii())`),
];

/** The checks of the annotations that configure the sessions of a role. */
export const SESSION_CHECKS: readonly PolicyCheck[] = [
  ...[IRS_42, IRS_43, IRS_44, IRS_46].map((rule) => policyCheckOf(rule)),
  {
    check: IRS_45,
    admits: `(${unlessStored(areTags)}) && (${unlessStored(areTemplates)})`,
    path: formatFieldPath(annotationPath(SESSION_TAGS_ANNOTATION)),
    message: "a session tag is not valid, or a template does not exist or has no value",
  },
];
