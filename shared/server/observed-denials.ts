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
  /** Since when all denials are counted, in ms since the Unix epoch. */
  readonly sinceMs: number;
  /** The most recent first. */
  readonly denials: readonly ObservedDenial[];
  /** The number of admissions by code that are not among the denials anymore, because there were too many. */
  readonly omitted: ReadonlyMap<string, number>;
}

const DAY_MS = 24 * 60 * 60_000;
/** How long a denial is kept, in ms. */
export const OBSERVED_MS = 7 * DAY_MS;
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

/** Returns the sum of both, without old denials. Of too many, keeps the most recent ones, and counts the others. */
export function addDenials(
  { sinceMs, denials, omitted }: ObservedDenials, added: Pick<ObservedDenials, "denials" | "omitted">, nowMs: number,
): ObservedDenials {
  const byReason = new Map(denials.map((one) => [reasonOf(one), one]));
  for (const one of added.denials) {
    const known = byReason.get(reasonOf(one));
    const latest = known !== undefined && known.lastMs > one.lastMs ? known : one;
    byReason.set(reasonOf(one), { ...latest, count: one.count + (known?.count ?? 0) });
  }
  const oldestMs = nowMs - OBSERVED_MS;
  const recent = [...byReason.values()].filter(({ lastMs }) => lastMs > oldestMs).toSorted(latestFirst);
  const total = new Map(omitted);
  const dropped = recent.slice(MAX_DENIALS).map(({ code, count }) => [code, count] as const);
  for (const [code, count] of [...added.omitted, ...dropped]) total.set(code, (total.get(code) ?? 0) + count);
  return { sinceMs: Math.max(sinceMs, oldestMs), denials: recent.slice(0, MAX_DENIALS), omitted: total };
}

function reasonOf({ code, user, operation, kind, namespace, name }: ObservedDenial): string {
  return JSON.stringify([code, user, operation, kind, namespace, name]);
}

function latestFirst(a: ObservedDenial, b: ObservedDenial): number {
  return b.lastMs - a.lastMs || compareText(reasonOf(a), reasonOf(b));
}

/** Returns the data of the ConfigMap: a denial is a line of JSON. */
export function dataOfObserved({ sinceMs, denials, omitted }: ObservedDenials): Record<string, string> {
  const lines = denials.map(({ lastMs, ...one }) => JSON.stringify({ ...one, last: timeText(lastMs) }));
  return {
    since: timeText(sinceMs), denials: lines.join("\n"), omitted: JSON.stringify(Object.fromEntries(omitted)),
  };
}

/** Returns what the ConfigMap contains, without what cannot be read; null if nothing was observed yet. */
export function observedIn(configMap: JsonObject): ObservedDenials | null {
  const data = stringMap(field(configMap, "data"));
  const sinceMs = Date.parse(data.get("since") ?? "");
  if (Number.isNaN(sinceMs)) return null;
  const lines = (data.get("denials") ?? "").split("\n", MAX_DENIALS);
  const denials = lines.map(parseDenial).filter((one) => one !== null);
  return { sinceMs, denials: denials.toSorted(latestFirst), omitted: omittedIn(data.get("omitted") ?? "") };
}

function parseDenial(line: string): ObservedDenial | null {
  const one = parseJSON(line);
  if (!isJsonObject(one)) return null;
  const text = (key: string): string => stringAt(one, key) ?? "";
  const texts = {
    code: text("code"), user: text("user"), operation: text("operation"), kind: text("kind"),
    namespace: text("namespace"), name: text("name"), message: text("message"),
  };
  const [count, lastMs] = [field(one, "count"), Date.parse(text("last"))];
  const isValid = texts.code !== "" && isCount(count) && !Number.isNaN(lastMs);
  return isValid ? { ...shortened(texts), count, lastMs } : null;
}

function omittedIn(text: string): ReadonlyMap<string, number> {
  const byCode = parseJSON(text);
  const counts = isJsonObject(byCode) ? Object.entries(byCode).slice(0, MAX_DENIALS) : [];
  return new Map(counts.flatMap(([code, count]) => (isCount(count) ? [[cut(code), count] as const] : [])));
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) > 0;
}

function timeText(ms: number): string {
  return new Date(ms).toISOString();
}
