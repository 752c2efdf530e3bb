import { ACCOUNT_ID, type ARN, parseARN } from "../formats/arn.ts";

/** A principal that the element `Principal` names. */
export type Principal =
  | { readonly kind: "any" }
  /** All principals of an account. The partition is null for 12 digits. */
  | { readonly kind: "account"; readonly partition: string | null; readonly accountID: string }
  | { readonly kind: "role" | "user" | "session"; readonly arn: string }
  /** The unique ID that is left when the role or user has been deleted. */
  | { readonly kind: "id"; readonly id: string }
  | { readonly kind: "service"; readonly name: string }
  /** A principal that is never a role, a user or a service. */
  | { readonly kind: "federated"; readonly name: string }
  /** A text with a wildcard, such as `role/*`, which matches no role, user or service. */
  | { readonly kind: "wildcard"; readonly type: string; readonly text: string }
  /** Another text that IAM does not store. */
  | { readonly kind: "invalid"; readonly text: string };

const UNIQUE_ID = /^A[A-Z]{3}[A-Z0-9]{12,124}$/;
const WILDCARD = /[*?]/;

const ARN_KINDS: readonly (readonly [form: RegExp, kind: "role" | "user" | "session" | "federated"])[] = [
  [/^iam:role\/./, "role"], [/^iam:user\/./, "user"], [/^sts:assumed-role\/[^/]+\/[^/]+$/, "session"],
  [/^sts:federated-user\/./, "federated"],
];

/** Parses a value of `Principal`, such as `AWS`. */
export function parsePrincipal(type: string, text: string): Principal {
  if (text === "*" && type === "AWS") return { kind: "any" };
  if (WILDCARD.test(text)) return { kind: "wildcard", type, text };
  if (type === "Service") return { kind: "service", name: text };
  return type === "AWS" ? parseAWSPrincipal(text) : { kind: "federated", name: text };
}

function parseAWSPrincipal(text: string): Principal {
  if (ACCOUNT_ID.test(text)) return { kind: "account", partition: null, accountID: text };
  if (UNIQUE_ID.test(text)) return { kind: "id", id: text };
  const arn = parseARN(text);
  const isValid = arn !== null && ACCOUNT_ID.test(arn.accountID) && arn.region === "";
  return isValid ? parseARNPrincipal(text, arn) : { kind: "invalid", text };
}

function parseARNPrincipal(text: string, { partition, service, accountID, resource }: ARN): Principal {
  const name = `${service}:${resource}`;
  if (name === "iam:root") return { kind: "account", partition, accountID };
  const [, kind = "invalid"] = ARN_KINDS.find(([form]) => form.test(name)) ?? [];
  if (kind === "invalid") return { kind, text };
  return kind === "federated" ? { kind, name: text } : { kind, arn: text };
}
