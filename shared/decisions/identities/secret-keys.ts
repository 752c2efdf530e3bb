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
export type AccessKeyResult =
  | { readonly key: AccessKey; readonly fault: null }
  | { readonly key: null; readonly fault: string };

// The keys that CAPA reads: kubernetes-sigs/cluster-api-provider-aws v2.10, pkg/cloud/identity/identity.go.
const REQUIRED = ["AccessKeyID", "SecretAccessKey"] as const;
const TOKEN = "SessionToken";
/** A session token has at most 4 KiB: https://docs.aws.amazon.com/STS/latest/APIReference/API_Credentials.html */
const MAX_LENGTH = 4_096;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
/** An HTTP header can contain each valid value. */
const VALUE = /^[!-~]+$/;

/** Reads the access key in a Secret. The names of the keys are case-sensitive, as in shipped CAPA. */
export function readAccessKey(secret: JsonObject): AccessKeyResult {
  const data = field(secret, "data");
  const faults = [...REQUIRED, TOKEN].flatMap((name) => keyFault(data, name) ?? []);
  if (faults.length > 0) return { key: null, fault: faults.join("; ") };
  const [accessKeyID = "", secretAccessKey = "", sessionToken = null] = [...REQUIRED, TOKEN].map((name) => {
    const text = stringAt(data, name);
    return text === null || text === "" ? undefined : Buffer.from(text, "base64").toString();
  });
  return { key: { accessKeyID, secretAccessKey, sessionToken }, fault: null };
}

function keyFault(data: unknown, name: string): string | null {
  const text = stringAt(data, name) ?? "";
  if (text === "") {
    if (name === TOKEN) return null;
    const present = stringAt(data, name) !== null;
    return present ? `its key ${name} is empty` : `its key ${name} is missing${similarKey(data, name)}`;
  }
  const value = BASE64.test(text) && text.length <= 2 * MAX_LENGTH ? Buffer.from(text, "base64").toString() : "";
  if (value.length <= MAX_LENGTH && VALUE.test(value)) return null;
  return `the value of its key ${name} is not printable ASCII without spaces and newlines`;
}

/** Returns the key that differs from `name` only in its case, as text for a message. */
function similarKey(data: unknown, name: string): string {
  const keys = typeof data === "object" && data !== null ? Object.keys(data) : [];
  const similar = keys.find((key) => key !== name && key.toLowerCase() === name.toLowerCase());
  return similar === undefined ? "" : ` (it has ${quote(similar)}, but the names are case-sensitive)`;
}
