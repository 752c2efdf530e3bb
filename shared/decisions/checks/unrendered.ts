import { type FieldPath, formatFieldPath, plainKeys } from "../kubernetes/field-path.ts";
import { field, type JsonObject } from "../kubernetes/json.ts";
import { placeholderIn } from "../kubernetes/placeholder.ts";
import { quote } from "../kubernetes/text.ts";
import type { CheckInput } from "./change.ts";
import type { Finding } from "./check.ts";

const FIX = "render the manifests first, for example with helm template, kustomize build or envsubst";

type Source = Pick<CheckInput, "origin" | "requester">;

/**
 * If a value contains a template placeholder, replaces all findings for the value by one warning, because the cluster
 * will receive another value. If the message of another finding quotes a placeholder, the finding only warns. Applies
 * only to manifests: in a request to the webhook, a placeholder is a wrong value.
 */
export function warnOfPlaceholders(
  findings: readonly Finding[], { object, ...source }: Source & Pick<CheckInput, "object">,
): readonly Finding[] {
  if (!isOffline(source)) return findings;
  const warned = new Set<string>();
  return findings.flatMap((finding) => {
    const message = unrenderedMessage(object, finding.path);
    if (message === null) return [warnOfQuotedPlaceholder(finding, source)];
    const key = formatFieldPath(finding.path);
    if (warned.has(key)) return [];
    warned.add(key);
    return [{ ...asWarning(finding), message }];
  });
}

/**
 * Returns a finding for a manifest as a warning if its message quotes a template placeholder. Returns other findings
 * unchanged.
 */
export function warnOfQuotedPlaceholder<One extends Finding>(finding: One, source: Source): One {
  return isOffline(source) && placeholderIn(finding.message) !== null ? asWarning(finding) : finding;
}

function isOffline({ origin, requester }: Source): boolean {
  return origin === "file" && requester === null;
}

function asWarning<One extends Finding>(finding: One): One {
  return { ...finding, severity: "warn", fix: FIX, waivable: false, waived: false };
}

/** Returns a message if the value or the key at the path contains a template placeholder, else null. */
function unrenderedMessage(object: JsonObject, path: FieldPath): string | null {
  const keys = plainKeys(path);
  const value = keys.reduce<unknown>((parent, key) => (
    Array.isArray(parent) ? (parent as unknown[])[Number(key)] : field(parent, String(key))
  ), object);
  for (const text of [value, keys.at(-1)]) {
    const placeholder = typeof text === "string" ? placeholderIn(text) : null;
    if (typeof text === "string" && placeholder !== null) {
      return `${quote(text)} is not rendered: it contains the placeholder ${quote(placeholder)}`;
    }
  }
  return null;
}
