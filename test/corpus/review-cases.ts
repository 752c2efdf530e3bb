import { readdirSync, readFileSync } from "node:fs";
import type { Case } from "./case.ts";
import { inventory, INVENTORIES, type RandomInventory } from "./generate/inventories.ts";
import { at, hashOf, isObject, type Json, textAt } from "./generate/json.ts";
import { type Review, review, REVIEWS } from "./generate/reviews.ts";
import { PATHS } from "./generate/subjects.ts";
import { patchIn, type WebhookAnswer, WebhookProgram } from "./programs/webhook.ts";

/** Yields the answer of the webhook to each review of each random inventory. */
export async function* reviewCases(): AsyncIterable<Case> {
  for (let number = 0; number < INVENTORIES; number++) {
    const state = inventory(number);
    yield* inWebhook(state, Array.from({ length: REVIEWS }, (_, i) => review(state, i)));
  }
}

const FIXTURES = new URL("../fixtures/admission/", import.meta.url);

/** Yields the answer to each review in test/fixtures/admission, on each path and in inventories of all settings. */
export async function* fixtureReviewCases(): AsyncIterable<Case> {
  const files = readdirSync(FIXTURES).toSorted();
  const reviews = files.flatMap((file) => PATHS.map((path): Review => ({
    name: file.replace(".json", ""), path, body: readFileSync(new URL(file, FIXTURES), "utf8"),
    contentType: "application/json", isLoaded: true, follows: "nothing",
  })));
  yield* inWebhook({ ...inventory(0), settings: "fixtures" }, reviews);
}

async function* inWebhook(state: RandomInventory, reviews: readonly Review[]): AsyncIterable<Case> {
  const webhook = new WebhookProgram(state.objects, state.environment);
  const hash = hashOf([state.objects, state.environment]);
  for (const [i, one] of reviews.entries()) {
    const place = `${String(state.number).padStart(2, "0")}-${String(i).padStart(3, "0")}`;
    const from = state.settings === "fixtures" ? "fixtures" : `${place} ${state.settings}`;
    yield caseOf(`review ${from}: ${one.name} ${one.path}`, hashOf([hash, one]), await webhook.send(one));
  }
  await webhook.close();
}

function caseOf(id: string, input: string, answer: WebhookAnswer): Case {
  const { status, body, log } = answer;
  const response = body.startsWith("{") ? at(JSON.parse(body), "response") : undefined;
  const warnings = textsAt(response, "warnings");
  const code = at(response, "status", "code");
  return {
    id, input, outcome: outcomeOf(answer), status: typeof code === "number" ? code : status,
    findings: findingsOf(answer, response, warnings), warnings: warnings.length,
    patch: patchIn(body).map((one): Json => ({ ...one })),
    ...(log["resolution"] !== undefined || log["role_arn"] !== undefined ? { resolution: resolutionIn(log) } : {}),
    messages: [...messagesOf(response, body), ...warnings],
  };
}

function outcomeOf({ status, log }: WebhookAnswer): string {
  const [code = ""] = textsAt(log, "codes");
  if (log["outcome"] === "error") return `${textAt(log, "answer")} ${code}`;
  if (status !== 200) return `error without a log line`;
  return log["reason"] === undefined ? textAt(log, "answer") : `skipped: ${textAt(log, "reason")}`;
}

/** The fields of the log line that state the resolution of an ACK resource or a cluster. */
function resolutionIn(
  { outcome, selector, conflicting_selectors: conflicting, account_id: account, region, role_arn: role }: Json
): Json {
  return { outcome, selector, conflicting, account, region, role };
}

function findingsOf({ findings, log }: WebhookAnswer, response: unknown, warnings: readonly string[]): string[] {
  const shown = [...causesIn(response), ...warnings.flatMap(warnedFinding)];
  const hidden = [...findings].flatMap(([finding, count]) => {
    const visible = shown.filter((one) => one.startsWith(`${finding} `)).length;
    return Array.from({ length: Math.max(0, count - visible) }, () => `${finding} ?`);
  });
  const counted = new Set([...findings.keys()].map((finding) => finding.split(" ")[0]));
  const notices = textsAt(log, "codes").filter((one) => !counted.has(one)).map((one) => `${one} notice`);
  return [...shown.filter((one) => counted.has(one.split(" ")[0])), ...hidden, ...notices].toSorted();
}

function causesIn(response: unknown): string[] {
  const causes = at(response, "status", "details", "causes");
  return (Array.isArray(causes) ? causes : []).filter(isObject).map((cause) => (
    `${textAt(cause, "message").split(" ", 1)[0]} deny ${textAt(cause, "field")}`
  ));
}

/** Matches a warning that starts with the path of a field or the key of an annotation. */
const PLACE = new RegExp(
  String.raw`^([A-Z]+-\d+b?) (?:\(waived\) ?)?((?:metadata|spec|data|binaryData|kind|apiVersion)\S*|[\w.-]+/[\w.-]+): `,
);

/** Returns the finding of a warning if the warning shows its path. A second line of the same finding has none. */
function warnedFinding(warning: string): string[] {
  const [, code, path] = PLACE.exec(warning) ?? [];
  return code === undefined || path === undefined ? [] : [`${code} warn ${path}`];
}

function messagesOf(response: unknown, body: string): string[] {
  const causes = at(response, "status", "details", "causes");
  if (Array.isArray(causes)) return causes.map((cause: unknown) => textAt(cause, "message"));
  const message = textAt(response, "status", "message");
  if (message !== "") return [message];
  return response === undefined ? [body] : [];
}

function textsAt(object: unknown, key: string): readonly string[] {
  const found = at(object, key);
  return Array.isArray(found) ? found.filter((one) => typeof one === "string") : [];
}
