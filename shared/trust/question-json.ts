import { isJsonObject, type JsonObject, parseJSON } from "../formats/json.ts";
import { quote } from "../formats/text.ts";
import type { Tags } from "./assume-role-call.ts";
import { type Question, QuestionError } from "./trust-question.ts";

const FIELDS = [
  "principalArn", "roleArn", "externalId", "sourceIdentity", "tags", "transitiveTagKeys", "roleSessionName",
  "durationSeconds",
];

/** Parses one line of a file of questions. Throws a QuestionError if it is not a question. */
export function parseQuestion(line: string): Question {
  const value = parseJSON(line);
  if (!isJsonObject(value)) throw new QuestionError("the line is not a JSON object");
  const unknown = Object.keys(value).find((key) => !FIELDS.includes(key));
  if (unknown !== undefined) throw new QuestionError(`unknown key ${quote(unknown)}; expected ${FIELDS.join(", ")}`);
  return {
    principalARN: requiredText(value, "principalArn"),
    roleARN: requiredText(value, "roleArn"),
    parameters: {
      externalID: optionalText(value, "externalId"),
      sourceIdentity: optionalText(value, "sourceIdentity"),
      sessionName: optionalText(value, "roleSessionName"),
      durationSeconds: durationOf(value["durationSeconds"] ?? null),
      tags: tagsOf(value["tags"] ?? {}),
      transitiveTagKeys: textsOf(value["transitiveTagKeys"] ?? []),
    },
  };
}

function requiredText(value: JsonObject, key: string): string {
  const text = optionalText(value, key);
  if (text === null) throw new QuestionError(`${key} is missing`);
  return text;
}

function optionalText(value: JsonObject, key: string): string | null {
  const text = value[key] ?? null;
  if (text !== null && typeof text !== "string") throw new QuestionError(`${key} is not a text`);
  return text;
}

function durationOf(value: unknown): number | null {
  if (value === null || typeof value === "number") return value;
  throw new QuestionError("durationSeconds is not a number");
}

/** Reads tags, given as an object or as the list of keys and values that STS expects. */
function tagsOf(value: unknown): Tags {
  const fields = isJsonObject(value) ? value : { tags: null };
  const entries = Array.isArray(value) ? value.map(entryOf) : Object.entries(fields);
  const tags = new Map<string, string>();
  for (const [key, text] of entries) {
    if (typeof text !== "string" || tags.has(key)) throw new QuestionError("tags are not texts with different keys");
    tags.set(key, text);
  }
  return tags;
}

function entryOf(tag: unknown): readonly [key: string, value: unknown] {
  const { Key: key, Value: value }: JsonObject = isJsonObject(tag) ? tag : {};
  return [typeof key === "string" ? key : "", value];
}

function textsOf(value: unknown): readonly string[] {
  if (Array.isArray(value) && value.every((one) => typeof one === "string")) return value;
  throw new QuestionError("transitiveTagKeys is not a list of texts");
}
