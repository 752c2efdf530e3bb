import type { ChainLink } from "../../shared/core/resolution.ts";
import { SELECTOR_KIND } from "../../shared/core/ack-groups.ts";
import { USE_SELECTOR_ANNOTATION } from "../../shared/core/annotation-keys.ts";
import type { NearMiss } from "../../shared/ack/near-misses.ts";
import { findingSentences } from "../../shared/core/check.ts";
import { countOf, printable } from "../../shared/formats/text.ts";
import { partText, type SelectorExplanation } from "../../shared/diagnosis/explain.ts";
import { fixOf, type Reported } from "../input/reported.ts";
import type { Way } from "./editing.ts";
import type { LocatedFinding } from "./located-finding.ts";
import { identityName, OUTCOME_STYLE, ownRole, type ResolvedResource } from "./resolution-table.ts";
import { type Paint, wrapLines } from "./terminal.ts";

/** A resolved resource, and what `why` and `resolve --explain` say about it. `-o json` of `resolve` lacks it. */
export interface Explanation {
  /** The account in which the resource exists in AWS; null if its status does not prove that it exists. */
  readonly existsIn: string | null;
  /** The session of the role that a controller gets; null if no role is assumed. */
  readonly session: string | null;
  /** What programs and controllers report about the resource. Only `why` reads it. */
  readonly reported: readonly Reported[];
  /** The selectors that probably should select the resource, although no selector does. */
  readonly nearMisses: readonly Pick<NearMiss, "selector" | "reason" | "message">[];
  /** What is wrong, the most likely cause first. */
  readonly causes: readonly ExplainedCause[];
}

/** What is wrong with an object that decides about the resource, or with the resource, and how to change it. */
export interface ExplainedCause extends LocatedFinding {
  readonly isOfResource: boolean;
  readonly ways: readonly Way[];
}

export type ExplainedResource = ResolvedResource & Partial<Explanation>;

/**
 * Returns what decides about the role of each resource, from the selectors or the chain of identities to the session,
 * what is reported, and what to do. Selectors that select the resource come first. Lines have at most `width` columns,
 * except commands, which users copy.
 */
export function explanationLines(explained: readonly ExplainedResource[], paint: Paint, width = Infinity): string[] {
  return explained.flatMap((one, i) => [
    ...(i === 0 ? [] : [""]),
    ...wrapLines([
      ...causeLines(one, paint), ...roleLines(one, paint),
      ...(one.reported ?? []).map(({ title, text }) => item(title, text.replace(SHOWN_BY, ""), paint)),
    ], width),
    ...fixLines(one, paint, width),
  ]);
}

function causeLines(one: ExplainedResource, paint: Paint): string[] {
  const { resource, message, explanation, omitted = 0 } = one;
  const name = `${resource.kind} ${resource.namespace}${resource.name === null ? "" : `/${resource.name}`}`;
  const sorted = (explanation ?? []).toSorted((a, b) => Number(b.selects) - Number(a.selects));
  return [
    `${paint("bold", printable(name))}: ${outcomeText(one, paint)}`,
    `  ${printable(message)}`,
    ...(explanation?.length === 0 ? ["  No IAMRoleSelector exists."] : []),
    ...(one.chain ?? []).map((link) => linkLine(link, paint)),
    ...sorted.flatMap((selector) => selectorLines(selector, one, paint)),
    ...(omitted === 0 ? [] : [`  ${countOf(omitted, "more selector")} without a match; -v lists all`]),
  ];
}

function outcomeText({ outcome, reported = [], causes = [] }: ExplainedResource, paint: Paint): string {
  const isRefused = reported.some(({ isRefusal }) => isRefusal);
  const isBroken = outcome === "selected" && causes.some(({ severity }) => severity === "deny");
  const but = isRefused ? ", but STS refuses the role" : isBroken ? ", but something is wrong" : "";
  return `${paint(OUTCOME_STYLE[outcome], outcome)}${but === "" ? "" : paint("red", but)}`;
}

function roleLines({ session = null, existsIn = null, ...resolution }: ExplainedResource, paint: Paint): string[] {
  const { outcome, roleARN, accountID } = resolution;
  const none = outcome === "default" ? ownRole(resolution) : "none";
  return [
    item("role", roleARN ?? none, paint),
    ...(accountID === null ? [] : [item("account", accountID, paint)]),
    ...(existsIn === null ? [] : [item("exists in", `account ${existsIn}`, paint)]),
    ...(session === null ? [] : [item("session", session, paint)]),
  ];
}

function fixLines({ causes, reported = [], message }: ExplainedResource, paint: Paint, width: number): string[] {
  if (causes === undefined) return [];
  if (causes.length > 0) {
    return causes.flatMap((cause, i) => {
      const place = `${i + 1} of ${causes.length}${cause.severity === "deny" ? " (all needed)" : ""}, `;
      const title = `fix ${causes.length === 1 ? "" : place}${cause.code}`;
      const text = causeText(cause, message);
      return [...wrapLines([item(title, text, paint)], width), ...wayLines(cause.ways, paint, width)];
    });
  }
  const refusal = reported.find(({ isRefusal }) => isRefusal);
  if (refusal === undefined) return [item("fix", fixOf(reported), paint)];
  const [, command] = SHOWN_BY.exec(refusal.text) ?? [];
  if (command === undefined) return [item("fix", "change the policies as the Event above says", paint)];
  return [...wrapLines([item("fix", WHICH_POLICY, paint)], width), ...wayLines(waysToAsk(command), paint, width)];
}

/** The fields of faults that are not faults of one field. */
const UNSPECIFIC: ReadonlySet<string> = new Set(["", "metadata", "metadata.labels"]);

/**
 * Returns what is wrong and the fix, without the message of the resolution, which is already shown. Names an object
 * other than the resource.
 */
function causeText({ isOfResource, kind, name, path, ...finding }: ExplainedCause, message: string): string {
  const place = isOfResource ? path : `${kind} ${name}: ${path}`;
  const shown = message.replace(/\.$/, "");
  const all = findingSentences(finding);
  if (!UNSPECIFIC.has(place)) return `${place}: ${all}`;
  const text = all.startsWith(shown) ? all.slice(shown.length).replace(/^[.;] /, "") : all;
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

/** A command that users copy is never wrapped. A shell finds the end of several lines only if they are not indented. */
function wayLines(ways: readonly Way[], paint: Paint, width: number): string[] {
  return ways.flatMap(({ when, command }) => {
    const lines = command.split("\n").map((line) => paint("bold", printable(line)));
    const indent = lines.length > 1 ? "" : when === null ? "    " : "      ";
    const title = when === null ? [] : wrapLines([`    ${printable(when)}:`], width);
    return [...title, ...lines.map((line) => `${indent}${line}`)];
  });
}

/** Returns how to save the data of the accounts that the command reads, and the command. */
function waysToAsk(command: string): readonly Way[] {
  const exports = Array.from(command.matchAll(/--iam ((\d{12})\.json)/g), ([, file, account]): Way => ({
    when: `with credentials of account ${account}`,
    command: `aws iam get-account-authorization-details --output json > ${file}`,
  }));
  return [...exports, { when: exports.length === 0 ? null : "then", command }];
}

/** Whoever can write Events chooses their text, and users copy commands into a shell. */
const SHOWN_BY = / Show it: `(ack-role-resolver trust check [\w./:=@+, -]+)`\.?/;
const WHICH_POLICY = "Allow what the Event above says. If it leaves a choice, the last command prints which policies "
  + "and statements decide.";

function item(title: string, text: string, paint: Paint): string {
  return `  ${paint("dim", `${printable(title)}:`)} ${printable(text)}`;
}

function linkLine(link: ChainLink, paint: Paint): string {
  const verdict = link.allowed ? paint("green", "allowed") : paint("yellow", "not allowed");
  return `  ${printable(identityName(link))}: ${verdict}: ${link.reason}`;
}

const NOT_CHOSEN = `, but ${USE_SELECTOR_ANNOTATION} does not name it`;

/** Names the role of a selector unless it is that of the resource. */
function selectorLines(
  explanation: SelectorExplanation, { roleARN: shown, causes = [] }: ExplainedResource, paint: Paint,
): string[] {
  const { selector, roleARN, selects, chosen, malformed, parts, message } = explanation;
  const verdict = selects ? paint("green", "selects the resource") : "does not select the resource";
  const role = roleARN === null || roleARN === shown ? "" : ` (${roleARN})`;
  const head = `  ${printable(`${selector}${role}`)}: ${verdict}${selects && chosen === false ? NOT_CHOSEN : ""}`;
  if (malformed || parts.length === 0) return [head, `    ${printable(withoutFaults(message, selector, causes))}`];
  const verdictOf = (holds: boolean): string => (holds ? paint("green", "yes") : paint("yellow", "no "));
  return [head, ...parts.map((part) => `    ${verdictOf(part.holds)} ${partText(part)}`)];
}

/** Returns the message about a malformed selector with only the codes of the faults that the fixes explain. */
function withoutFaults(message: string, selector: string, causes: readonly ExplainedCause[]): string {
  return causes.filter(({ kind, name }) => kind === SELECTOR_KIND && name === selector).reduce((text, fault) => (
    text.replace(`${fault.code} ${fault.path}: ${fault.message}`, () => fault.code)
  ), message);
}
