import { EXTERNAL_ID_ANNOTATION } from "./annotation-keys.ts";
import type { TemplateContext } from "./context.ts";
import { type FieldPath, formatFieldPath, isJsonObject, type JsonObject, plainKeys, valueAt } from "../formats/json.ts";
import { opensPlaceholder, placeholderIn } from "../formats/names.ts";
import { quote } from "../formats/text.ts";
import type { CheckInput, Finding } from "./check.ts";

const FIX = "render the manifests first, for example with helm template, kustomize build or envsubst";

/** The names of the fields that contain an external ID. */
const CONFIDENTIAL: ReadonlySet<unknown> = new Set(["externalID", EXTERNAL_ID_ANNOTATION]);

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
function warnOfQuotedPlaceholder<One extends Finding>(finding: One, source: Source): One {
  return isOffline(source) && placeholderIn(finding.message) !== null ? asWarning(finding) : finding;
}

function isOffline({ origin, requester }: Source): boolean {
  return origin === "file" && requester === null;
}

function asWarning<One extends Finding>(finding: One): One {
  return { ...finding, severity: "warn", fix: FIX, repairs: [], waivable: false, waived: false };
}

/** Returns a message if the value or the key at the path contains a template placeholder, else null. */
function unrenderedMessage(object: JsonObject, path: FieldPath): string | null {
  const key = plainKeys(path).at(-1);
  for (const text of [valueAt(object, path), key]) {
    const placeholder = typeof text === "string" ? placeholderIn(text) : null;
    if (typeof text === "string" && placeholder !== null) {
      // An external ID is confidential, so the message quotes only the placeholder.
      const subject = CONFIDENTIAL.has(key) ? "the external ID" : quote(text);
      return `${subject} is not rendered: it contains the placeholder ${quote(placeholder)}`;
    }
  }
  return null;
}

/**
 * Returns the findings about values of a template that are final. A value that contains a placeholder, or that another
 * field sets, is unknown and not wrong.
 */
export function withoutOpenValues(
  findings: readonly Finding[], object: JsonObject, { isOpen }: TemplateContext,
): readonly Finding[] {
  return findings.filter(({ path, message }) => (
    !opensPlaceholder(message) && !isOpenAt(object, path) && !isOpen(path)
  ));
}

/**
 * Whether a text at the path, or at the path of a parent, contains a placeholder. A field of the value at the path can
 * be a placeholder for a list, so the value is not empty.
 */
function isOpenAt(object: JsonObject, path: FieldPath): boolean {
  const values = [...path.keys(), path.length].map((length) => valueAt(object, path.slice(0, length)));
  const last = path.length > 1 ? values.at(-1) : null;
  const children = isJsonObject(last) ? Object.values(last) : [];
  const texts = [...values.flat(), ...children, ...plainKeys(path)].filter((value) => typeof value === "string");
  return texts.some(opensPlaceholder);
}
