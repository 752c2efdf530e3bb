import { field, type JsonObject, stringAt } from "../kubernetes/json.ts";
import { quote } from "../kubernetes/text.ts";

/** The access key in the Secret of a static identity. */
export interface AccessKey {
  readonly accessKeyID: string;
  readonly secretAccessKey: string;
  /** Null for the access key of an IAM user. */
  readonly sessionToken: string | null;
}

/** The result of reading a Secret. `fault` is a clause that contains no value of the Secret. */
type AccessKeyResult =
  | { readonly key: AccessKey; readonly fault: null }
  | { readonly key: null; readonly fault: string };

// The keys that CAPA reads: kubernetes-sigs/cluster-api-provider-aws v2.10, pkg/cloud/identity/identity.go.
const ID = "AccessKeyID";
export const REQUIRED_KEYS = [ID, "SecretAccessKey"] as const;
export const TOKEN_KEY = "SessionToken";
/** A session token has at most 4 KiB: https://docs.aws.amazon.com/STS/latest/APIReference/API_Credentials.html */
const MAX_LENGTH = 4_096;
const MAX_BASE64_LENGTH = Math.ceil(MAX_LENGTH / 3) * 4;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
/** An HTTP header can contain each valid value. */
const VALUE = /^[!-~]+$/;

/** Reads the access key in a Secret. The names of the keys are case-sensitive, as in shipped CAPA. */
export function readAccessKey(secret: JsonObject): AccessKeyResult {
  const data = field(secret, "data");
  const faults = [...REQUIRED_KEYS, TOKEN_KEY].flatMap((name) => keyFault(data, name) ?? []);
  if (faults.length > 0) return { key: null, fault: faults.join("; ") };
  const [accessKeyID = "", secretAccessKey = "", sessionToken = null] = [...REQUIRED_KEYS, TOKEN_KEY].map((name) => {
    const text = stringAt(data, name);
    return text === null || text === "" ? undefined : Buffer.from(text, "base64").toString();
  });
  return { key: { accessKeyID, secretAccessKey, sessionToken }, fault: null };
}

function keyFault(data: unknown, name: string): string | null {
  const text = stringAt(data, name) ?? "";
  if (text === "") {
    if (name === TOKEN_KEY) return null;
    const present = stringAt(data, name) !== null;
    return present ? `its key ${name} is empty` : `its key ${name} is missing${similarText(data, name)}`;
  }
  if (text.length > MAX_BASE64_LENGTH) return `the value of its key ${name} has more than ${MAX_LENGTH} bytes`;
  const value = BASE64.test(text) ? Buffer.from(text, "base64").toString() : "";
  if (!VALUE.test(value)) return `the value of its key ${name} is not printable ASCII without spaces and newlines`;
  return name === ID && looksSecret(value) ? `the value of its key ${ID} looks like a secret access key` : null;
}

/**
 * Whether the text has the form of a secret access key. The access key ID is sent to STS in plain text, so a secret
 * access key in its place would be revealed. The ID of an access key has only uppercase letters and digits.
 */
function looksSecret(text: string): boolean {
  return /^[A-Za-z0-9/+]{40}$/.test(text) && /[a-z/+]/.test(text);
}

/** Returns the key that differs from `name` only in its case, as text for a message. */
function similarText(data: unknown, name: string): string {
  const similar = similarKey(typeof data === "object" && data !== null ? Object.keys(data) : [], name);
  return similar === null ? "" : ` (it has ${quote(similar)}, but the names are case-sensitive)`;
}

/** Returns the first key that differs from `name` only in its case, or null. */
export function similarKey(keys: Iterable<string>, name: string): string | null {
  for (const key of keys) if (key !== name && key.toLowerCase() === name.toLowerCase()) return key;
  return null;
}
