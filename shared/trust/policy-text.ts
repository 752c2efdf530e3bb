import { errorMessage } from "../formats/errors.ts";
import { excessOf, type FieldPath } from "../formats/json.ts";
import { countOf } from "../formats/text.ts";
import { parseUniqueJSON, RepeatedKey } from "../formats/unique-json.ts";

/** What is wrong with a policy document, and where. */
export interface PolicyFault {
  readonly path: FieldPath;
  readonly message: string;
}

/**
 * The bounds of a document. IAM allows 6,144 characters without white space. A document consists of 6 nested levels:
 * statements, a statement, its conditions, an operator, a key and its values.
 */
export const POLICY_BOUNDS = { maxCharacters: 131_072, maxDepth: 8, maxValues: 20_000 } as const;

/**
 * The sizes that IAM allows, in characters without white space:
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html
 */
export const POLICY_SIZES = { trust: 2048, trustQuota: 8192, managed: 6144, inline: 10_240 } as const;

export type PolicyJSON = { readonly value: unknown } | { readonly fault: PolicyFault };

/**
 * Returns the JSON value of a document. The SDKs for Go, JavaScript and Java return a URL-encoded text, the AWS CLI an
 * object, and Terraform a JSON text.
 */
export function readPolicyJSON(document: unknown): PolicyJSON {
  const parsed = typeof document === "string" ? parseText(document) : { value: document };
  if ("fault" in parsed) return parsed;
  const excess = excessOf(parsed.value, POLICY_BOUNDS);
  return excess === null ? parsed : { fault: { ...excess, message: excess.message.replace("object", "policy") } };
}

function parseText(text: string): PolicyJSON {
  const { maxCharacters } = POLICY_BOUNDS;
  if (text.length > maxCharacters) {
    return atRoot(`the policy has ${countOf(text.length, "character")}, more than ${maxCharacters}`);
  }
  try {
    const isEncoded = /^\s*%/.test(text);
    // A `+` is not a space: the encoding is that of RFC 3986.
    return { value: parseUniqueJSON(isEncoded ? decodeURIComponent(text) : text) };
  } catch (error) {
    if (error instanceof RepeatedKey) return atRoot(error.message);
    return atRoot(`the policy is not JSON or URL-encoded JSON: ${errorMessage(error).slice(0, 100)}`);
  }
}

function atRoot(message: string): PolicyJSON {
  return { fault: { path: [], message } };
}
