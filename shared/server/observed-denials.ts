import { field, isJsonObject, type JsonObject, parseJSON, stringAt, stringMap } from "../formats/json.ts";
import { compareText, printable, startOfText } from "../formats/text.ts";
import { LIMITS } from "../core/limits.ts";

/** Admissions of the profile `observe` that `enforce` would have denied for the same reason, and how many. */
export interface ObservedDenial {
  /** The check, or the error with which the review failed. */
  readonly code: string;
  readonly user: string;
  readonly operation: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** Why the last of them would have been denied. */
  readonly message: string;
  readonly count: number;
  /** The time of the last one, in ms since the Unix epoch. */
  readonly lastMs: number;
}

/** What the replicas of the webhook have observed. */
export interface ObservedDenials {
  /** Since when all denials are counted without a gap, in ms since the Unix epoch. */
  readonly sinceMs: number;
  /** When a replica has counted last, even if there was nothing to count. */
  readonly untilMs: number;
  /** The most recent first. */
  readonly denials: readonly ObservedDenial[];
  /** By code, the admissions that are not among the denials anymore, because there were too many. */
  readonly omitted: ReadonlyMap<string, Omitted>;
}

type Omitted = Pick<ObservedDenial, "count" | "lastMs">;

/** Counts of one replica that are not stored yet. */
export type AddedDenials = Pick<ObservedDenials, "denials" | "omitted">;

const DAY_MS = 24 * 60 * 60_000;
/** How long a denial is kept, in ms. */
export const OBSERVED_MS = 7 * DAY_MS;
/** How often a replica confirms that it counts, in ms. */
export const CONFIRM_MS = 60 * 60_000;
/** After how long without a confirmation nobody has counted, in ms: a release without the profile, or without Pods. */
const GAP_MS = 3 * CONFIRM_MS;
const MAX_DENIALS = LIMITS.observedDenials.value;
/** The longest text of a denial, in characters. With it, all denials fit into a ConfigMap, which may have 1 MiB. */
const MAX_TEXT = 200;

/** Returns a denial with texts that are short and printable. */
export function observedDenial(denial: Omit<ObservedDenial, "count">): ObservedDenial {
  const { lastMs, ...texts } = denial;
  return { ...shortened(texts), count: 1, lastMs };
}

type DenialTexts = Omit<ObservedDenial, "count" | "lastMs">;

/** Escapes can lengthen a text. */
function cut(text: string): string {
  return startOfText(printable(startOfText(text, MAX_TEXT)), MAX_TEXT);
}

function shortened(texts: DenialTexts): DenialTexts {
  const { code, user, operation, kind, namespace, name, message } = texts;
  return {
    code: cut(code), user: cut(user), operation: cut(operation), kind: cut(kind), namespace: cut(namespace),
    name: cut(name), message: cut(message),
  };
}

/** Returns the sum of both, as `recentDenials` does. Of too many, keeps the most recent ones, and counts the others. */
export function addDenials(observed: ObservedDenials, added: AddedDenials, nowMs: number): ObservedDenials {
  const { sinceMs, untilMs } = observed;
  const byReason = new Map(observed.denials.map((one) => [reasonOf(one), one]));
  for (const one of added.denials) {
    const known = byReason.get(reasonOf(one));
    const latest = known !== undefined && known.lastMs > one.lastMs ? known : one;
    byReason.set(reasonOf(one), { ...latest, count: one.count + (known?.count ?? 0) });
  }
  const denials = [...byReason.values()].filter(isRecent(nowMs)).toSorted(latestFirst);
  const omitted = new Map(observed.omitted);
  const dropped = denials.slice(MAX_DENIALS).map((one) => [one.code, one] as const);
  for (const [code, { count, lastMs }] of [...added.omitted, ...dropped]) {
    const known = omitted.get(code) ?? { count: 0, lastMs };
    omitted.set(code, { count: known.count + count, lastMs: Math.max(known.lastMs, lastMs) });
  }
  const hasGap = nowMs - untilMs > GAP_MS;
  return recentDenials({
    sinceMs: hasGap ? nowMs : sinceMs, untilMs: nowMs, denials: denials.slice(0, MAX_DENIALS), omitted,
  }, nowMs);
}

/** Returns what was observed in the last 7 days. */
export function recentDenials({ sinceMs, untilMs, denials, omitted }: ObservedDenials, nowMs: number): ObservedDenials {
  return {
    sinceMs: Math.max(sinceMs, nowMs - OBSERVED_MS), untilMs, denials: denials.filter(isRecent(nowMs)),
    omitted: new Map([...omitted].filter(([, one]) => isRecent(nowMs)(one))),
  };
}

function isRecent(nowMs: number): (one: Omitted) => boolean {
  return ({ lastMs }) => nowMs - lastMs < OBSERVED_MS;
}

function reasonOf({ code, user, operation, kind, namespace, name }: ObservedDenial): string {
  return JSON.stringify([code, user, operation, kind, namespace, name]);
}

function latestFirst(a: ObservedDenial, b: ObservedDenial): number {
  return b.lastMs - a.lastMs || compareText(reasonOf(a), reasonOf(b));
}

/** Returns the data of the ConfigMap: a denial is a line of JSON. */
export function dataOfObserved({ sinceMs, untilMs, denials, omitted }: ObservedDenials): Record<string, string> {
  const lines = denials.map(({ lastMs, ...one }) => JSON.stringify({ ...one, last: timeText(lastMs) }));
  const counts = Array.from(omitted, ([code, { count, lastMs }]) => [code, { count, last: timeText(lastMs) }]);
  return {
    since: timeText(sinceMs), until: timeText(untilMs), denials: lines.join("\n"),
    omitted: JSON.stringify(Object.fromEntries(counts)),
  };
}

/** Returns what the ConfigMap contains, without what cannot be read; null if nothing was observed yet. */
export function observedIn(configMap: JsonObject): ObservedDenials | null {
  const data = stringMap(field(configMap, "data"));
  const [sinceMs, untilMs] = [Date.parse(data.get("since") ?? ""), Date.parse(data.get("until") ?? "")];
  if (Number.isNaN(sinceMs) || Number.isNaN(untilMs)) return null;
  const lines = (data.get("denials") ?? "").split("\n", MAX_DENIALS);
  const denials = lines.map(parseDenial).filter((one) => one !== null);
  const omitted = omittedIn(data.get("omitted") ?? "");
  return { sinceMs, untilMs, denials: denials.toSorted(latestFirst), omitted };
}

function parseDenial(line: string): ObservedDenial | null {
  const one = parseJSON(line);
  if (!isJsonObject(one)) return null;
  const text = (key: string): string => stringAt(one, key) ?? "";
  const texts = {
    code: text("code"), user: text("user"), operation: text("operation"), kind: text("kind"),
    namespace: text("namespace"), name: text("name"), message: text("message"),
  };
  const counted = countIn(one);
  return texts.code === "" || counted === null ? null : { ...shortened(texts), ...counted };
}

function omittedIn(text: string): ReadonlyMap<string, Omitted> {
  const byCode = parseJSON(text);
  const entries = isJsonObject(byCode) ? Object.entries(byCode).slice(0, MAX_DENIALS) : [];
  return new Map(entries.flatMap(([code, one]) => {
    const counted = countIn(one);
    return counted === null ? [] : [[cut(code), counted] as const];
  }));
}

function countIn(one: unknown): Omitted | null {
  const [count, lastMs] = [field(one, "count"), Date.parse(stringAt(one, "last") ?? "")];
  return Number.isSafeInteger(count) && Number(count) > 0 && !Number.isNaN(lastMs)
    ? { count: Number(count), lastMs } : null;
}

function timeText(ms: number): string {
  return new Date(ms).toISOString();
}
