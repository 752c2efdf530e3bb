
/**
 * Returns whether `pattern` matches the whole of `text`. `*` stands for any number of characters, including none. All
 * other characters stand for themselves. Searches each part of the pattern only once, without backtracking, because the
 * leftmost occurrence of a part leaves the most text for the next part.
 */
export function matchesPattern(pattern: string, text: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop();
  if (last === undefined) return text === pattern;
  if (!text.startsWith(first)) return false;
  let from = first.length;
  for (const part of rest) {
    const at = text.indexOf(part, from);
    if (at < 0) return false;
    from = at + part.length;
  }
  return text.length - from >= last.length && text.endsWith(last);
}

/** The name of a service account in `--controller-users`. No user name of Kubernetes or AWS has this form. */
const SERVICE_ACCOUNT = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\/[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;

/** The ACK controllers in the cluster, as NAMESPACE/NAME, and patterns of the user names of others. */
interface Controllers {
  readonly controllerServiceAccounts: readonly string[];
  readonly controllerUsers: readonly string[];
}

/** Returns the service accounts and the patterns of user names in the values of `--controller-users`. */
export function controllersOf(users: readonly string[]): Controllers {
  return {
    controllerServiceAccounts: users.filter((user) => SERVICE_ACCOUNT.test(user)),
    controllerUsers: users.filter((user) => !SERVICE_ACCOUNT.test(user)),
  };
}

/**
 * Matches a template placeholder in a value that is not rendered: `{{ .Values.x }}` of Helm, `${X}`, `$X` and `$(X)` of
 * envsubst and scripts, and `<account>` of documentation.
 */
const PLACEHOLDER = new RegExp([
  /\{\{[^{}]{0,200}\}\}/, /\$\{[^{}]{0,200}\}/, /\$\([^()]{0,200}\)/, /\$[A-Za-z_]\w{0,200}/, /<[A-Za-z][^<>]{0,200}>/,
].map(({ source }) => source).join("|"));

/** Returns the first placeholder of a template in the text, such as `${AWS_REGION}`. Returns null if none exists. */
export function placeholderIn(text: string): string | null {
  return PLACEHOLDER.exec(text)?.[0] ?? null;
}

/**
 * Whether the text contains a placeholder, or the start of an expression of any length, as in templates of kro, Argo CD
 * and Crossplane.
 */
export function opensPlaceholder(text: string): boolean {
  return text.includes("${") || text.includes("{{") || placeholderIn(text) !== null;
}

// The rules of Kubernetes for names and labels.
// Source: k8s.io/apimachinery v0.35 pkg/util/validation/validation.go and pkg/api/validate/content.
export const QUALIFIED_NAME = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
export const LABEL_VALUE = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/;
export const DNS_LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
export const DNS_SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

export const MAX_LABEL_LENGTH = 63;
export const MAX_SUBDOMAIN_LENGTH = 253;

const NAME_FORM = "letters, digits, '-', '_' and '.', and start and end with a letter or digit";
const DNS_LABEL_FORM = "lower-case letters, digits and '-', and start and end with a letter or digit";
const SUBDOMAIN_FORM =
  "lower-case letters, digits, '-' and '.', and each part must start and end with a letter or digit";

/**
 * The label that the API server sets on every namespace (KEP-2161). The value of the label is the name of the
 * namespace.
 */
export const NAME_LABEL = "kubernetes.io/metadata.name";

/** Returns the rules for label keys that `key` violates; [] if `key` is valid. */
export function labelKeyFaults(key: string): string[] {
  const slash = key.indexOf("/");
  if (slash !== key.lastIndexOf("/")) return ["a label key must have at most one '/', between prefix and name"];
  const name = key.slice(slash + 1);
  const faults = slash < 0 ? [] : prefixFaults(key.slice(0, slash));
  if (name === "") faults.push("the name part of a label key must not be empty");
  else if (!QUALIFIED_NAME.test(name)) faults.push(`the name part of a label key must consist of ${NAME_FORM}`);
  if (name.length > MAX_LABEL_LENGTH) {
    faults.push(`the name part of a label key must have at most ${MAX_LABEL_LENGTH} characters`);
  }
  return faults;
}

function prefixFaults(prefix: string): string[] {
  if (prefix === "") return ["the prefix of a label key must not be empty"];
  return subdomainFaults(prefix).map((fault) => `in the prefix of a label key: ${fault}`);
}

/** Returns the rules for label values that `value` violates; [] if `value` is valid. The empty value is valid. */
export function labelValueFaults(value: string): string[] {
  const faults = LABEL_VALUE.test(value) ? [] : [`a label value must be empty or consist of ${NAME_FORM}`];
  if (value.length > MAX_LABEL_LENGTH) faults.push(`a label value must have at most ${MAX_LABEL_LENGTH} characters`);
  return faults;
}

/** Returns the rules for namespace names (RFC 1123 labels) that `name` violates; [] if `name` is valid. */
export function namespaceNameFaults(name: string): string[] {
  const faults = DNS_LABEL.test(name) ? [] : [`a namespace name must consist of ${DNS_LABEL_FORM}`];
  if (name.length > MAX_LABEL_LENGTH) faults.push(`a namespace name must have at most ${MAX_LABEL_LENGTH} characters`);
  return faults;
}

/** Returns the rules for object names (RFC 1123 subdomains) that `name` violates; [] if `name` is valid. */
export function subdomainFaults(name: string): string[] {
  const faults = DNS_SUBDOMAIN.test(name) ? [] : [`a DNS name must consist of ${SUBDOMAIN_FORM}`];
  if (name.length > MAX_SUBDOMAIN_LENGTH)
    faults.push(`a DNS name must have at most ${MAX_SUBDOMAIN_LENGTH} characters`);
  return faults;
}
