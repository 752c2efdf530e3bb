import { LABEL_KEY, LABEL_VALUE_TEXT, NAMESPACE_NAME } from "../../shared/core/value-types.ts";
import { IRS_08, IRS_09, IRS_11 } from "../../shared/ack/selector-matches.ts";
import { IRS_12, IRS_13B } from "../../shared/ack/selector-types.ts";
import type { Runtime } from "../../shared/core/context.ts";
import { SELECTOR_GROUP } from "../../shared/core/ack-groups.ts";
import { OPERATORS } from "../../shared/formats/label-selector.ts";
import { MAX_LABEL_LENGTH } from "../../shared/formats/names.ts";
import {
  derivedVariables, not, read, type State, text, texts, unlessStored, type Variable,
} from "../../shared/formats/cel.ts";
import { isWaived, type PolicyCheck } from "./policy.ts";

/**
 * The limits above which the policy does not search for repeated entries: CEL compares each entry with each other
 * entry, and the API server limits the cost of an expression.
 */
export const MAX_COMPARED = { names: 250, types: 100, typeCharacters: 200, invalidNames: 500 } as const;

/**
 * Returns an expression: the entries of a list that occur more than once, or [] if the list is too large. Compares only
 * ASCII, because the cost of a comparison depends on the number of bytes.
 */
function repeated(list: string, limit: number, characters: number): string {
  const isShort = `size(entry) <= ${characters} && entry.matches(${text("^[ -~]*$")})`;
  return `size(${list}) <= ${limit} && ${list}.all(entry, ${isShort}) `
    + `? ${list}.filter(entry, ${list}.indexOf(entry) != ${list}.lastIndexOf(entry)) : []`;
}

const EMPTY_TYPE = "//";

/** Returns an expression: the entries of `resourceTypeSelector` as GROUP/VERSION/KIND. */
function typeKeys(state: State): string {
  const parts = ["group", "version", "kind"].map((part) => `type.?${part}.orValue("")`);
  return `${read("types", state)}.map(type, ${parts.join(' + "/" + ')})`;
}

export const MATCH_VARIABLES: readonly Variable[] = [
  ...derivedVariables("invalidNames", (state) => (
    `${read("names", state)}.filter(name, name != "" && ${not(NAMESPACE_NAME.cel("name"))})`
  )),
  ...derivedVariables("repeatedNames", (state) => (
    repeated(read("names", state), MAX_COMPARED.names, MAX_LABEL_LENGTH)
  )),
  ...derivedVariables("typeKeys", typeKeys),
  ...derivedVariables("repeatedTypes", (state) => (
    repeated(read("typeKeys", state), MAX_COMPARED.types, MAX_COMPARED.typeCharacters)
  )),
  ...derivedVariables("groups", (state) => `${read("types", state)}.map(type, type.?group.orValue(""))`),
];

/** Returns an expression: whether the list contains no `entry`, or the stored list contains it too. */
function isNoNew(entry: string, list: string): string {
  return `!(${text(entry)} in ${read(list)}) || ${text(entry)} in ${read(list, "old")}`;
}

/** Returns an expression: whether each repeated entry is also repeated in the stored list, or the lists are large. */
function isNotNewlyRepeated(list: string, repeatedList: string, limit: number): string {
  return `size(${read(list, "old")}) > ${limit} || `
    + `${read(repeatedList)}.all(entry, entry == "" || entry == ${text(EMPTY_TYPE)} || `
    + `entry in ${read(repeatedList, "old")})`;
}

/** Returns an expression: whether each label is valid, or is a label of the stored selector. */
function areLabels(list: string): string {
  const [labels, old] = [read(list), read(list, "old")];
  return `${labels}.all(key, (${LABEL_KEY.cel("key")} || key in ${old}) && `
    + `(${LABEL_VALUE_TEXT.cel(`${labels}[key]`)} || key in ${old} && ${labels}[key] == ${old}[key]))`;
}

/** Source: k8s.io/apimachinery v0.35 pkg/labels/selector.go, NewRequirement. */
function areExpressions(list: string): string {
  const [key, operator] = ["one.?key.orValue(\"\")", "one.?operator.orValue(\"\")"];
  const values = "one.?values.orValue([])";
  return unlessStored((state) => (
    `${read(list, state)}.all(one, ${LABEL_KEY.cel(key)} && ${operator} in ${texts(OPERATORS)} && `
      + `(${operator} in ["In", "NotIn"]) == (size(${values}) > 0) && `
      + `${values}.all(value, ${LABEL_VALUE_TEXT.cel("value")}))`
  ));
}

/** Returns the checks of the namespaces, kinds and labels that a selector selects. */
export function matchChecks(runtime: Runtime): readonly PolicyCheck[] {
  const { names, types, invalidNames } = MAX_COMPARED;
  const labels = ["namespaceLabels", "resourceLabels"].map(areLabels);
  const expressions = runtime === "ack" ? [] : ["namespaceExpressions", "resourceExpressions"].map(areExpressions);
  return [
    {
      check: IRS_08,
      admits: `(${isNoNew("", "names")}) && (${isNotNewlyRepeated("names", "repeatedNames", names)})`,
      path: "spec.namespaceSelector.names",
      message: "a namespace name is empty or listed twice",
    },
    {
      check: IRS_09,
      admits: `size(${read("invalidNames", "old")}) > ${invalidNames} || `
        + `${read("invalidNames")}.all(name, name in ${read("invalidNames", "old")})`,
      path: "spec.namespaceSelector.names",
      message: IRS_09.policySays,
    },
    {
      check: IRS_11,
      admits: [...labels, ...expressions].map((valid) => `(${valid})`).join(" && "),
      path: "spec",
      message: "matchLabels or matchExpressions contains an invalid label",
    },
    {
      check: IRS_12,
      admits: `(${isNoNew(EMPTY_TYPE, "typeKeys")}) && (${isNotNewlyRepeated("types", "repeatedTypes", types)})`,
      path: "spec.resourceTypeSelector",
      message: "an entry is empty or listed twice",
    },
    {
      check: IRS_13B,
      admits: `size(${read("groups", "old")}) > ${invalidNames} || `
        + `${read("groups")}.all(group, group == "" || group.endsWith(".${SELECTOR_GROUP}") || `
        + `group in ${read("groups", "old")}) || ${isWaived(IRS_13B)}`,
      path: "spec.resourceTypeSelector",
      message: "the group of an entry is not an ACK group: it does not end in .services.k8s.aws",
    },
  ];
}
