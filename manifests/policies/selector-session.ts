import {
  DURATION_SECONDS_ANNOTATION, EXTERNAL_ID_ANNOTATION, SESSION_NAME_ANNOTATION, SESSION_TAGS_ANNOTATION,
  SOURCE_IDENTITY_ANNOTATION,
} from "../../shared/contract/annotation-keys.ts";
import type { CheckEntry } from "../../shared/checks/check.ts";
import {
  IRS_41, IRS_42, IRS_43, IRS_44, IRS_45, IRS_46,
} from "../../shared/checks/selector-session.ts";
import { annotationPath, formatFieldPath } from "../../shared/formats/json.ts";
import { DURATION_SECONDS, TEMPLATE, TEMPLATES } from "../../shared/model/session-annotations.ts";
import {
  DURATION_LIMITS, EXTERNAL_ID_LIMITS, MAX_TAGS, SESSION_NAME_LIMITS, TAG_KEY_LIMITS, TAG_PUNCTUATION,
  TAG_VALUE_LIMITS, type TextLimits,
} from "../../shared/model/session.ts";
import {
  anyCase, derivedVariables, not, read, regexp, type State, text, texts, trimmed, unlessStored, type Variable,
} from "./cel.ts";
import type { PolicyCheck } from "./policy.ts";

const IS_RESERVED = text(`^${anyCase("aws")}:`);

function withinLimits(value: string, { min, max, pattern }: TextLimits): string {
  return `size(${value}) >= ${min} && size(${value}) <= ${max} && ${value}.matches(${regexp(pattern)})`;
}

/** Returns a check of one annotation of the selector. `isValid` returns an expression for the value. */
function annotationCheck(
  check: CheckEntry, annotation: string, message: string, isValid: (value: string) => string,
): PolicyCheck {
  const isMissingOrValid = (state: State): string => {
    const annotations = read("annotations", state);
    return `!(${text(annotation)} in ${annotations}) || ${isValid(`${annotations}[${text(annotation)}]`)}`;
  };
  const path = formatFieldPath(annotationPath(annotation));
  return { check, admits: unlessStored(isMissingOrValid), path, message };
}

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
  namespace: (state) => `size(${read("names", state)}) == 1`,
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

const TAGS_PATH = formatFieldPath(annotationPath(SESSION_TAGS_ANNOTATION));

/** The checks of the annotations that configure the sessions of a role. */
export const SESSION_CHECKS: readonly PolicyCheck[] = [
  {
    check: IRS_41,
    admits: unlessStored(areTemplates),
    path: TAGS_PATH,
    message: "a template does not exist or has no value",
  },
  annotationCheck(IRS_42, EXTERNAL_ID_ANNOTATION, "the external ID is not valid", (value) => (
    withinLimits(value, EXTERNAL_ID_LIMITS)
  )),
  annotationCheck(IRS_43, SESSION_NAME_ANNOTATION, "the session name is not valid", (value) => (
    withinLimits(value, SESSION_NAME_LIMITS)
  )),
  annotationCheck(IRS_44, SOURCE_IDENTITY_ANNOTATION, "the source identity is not valid", (value) => (
    `${withinLimits(value, SESSION_NAME_LIMITS)} && ${not(`${value}.matches(${IS_RESERVED})`)}`
  )),
  { check: IRS_45, admits: unlessStored(areTags), path: TAGS_PATH, message: "a session tag is not valid" },
  annotationCheck(IRS_46, DURATION_SECONDS_ANNOTATION, "the duration is not valid", (value) => (
    `${value}.matches(${regexp(DURATION_SECONDS)}) && `
      + `int(${value}) >= ${DURATION_LIMITS.min} && int(${value}) <= ${DURATION_LIMITS.max}`
  )),
];
