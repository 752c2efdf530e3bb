// The rules of Kubernetes for names and labels.
// Source: k8s.io/apimachinery v0.35 pkg/util/validation/validation.go and pkg/api/validate/content.
const QUALIFIED_NAME = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
const LABEL_VALUE = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/;
const DNS_LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const DNS_SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

const MAX_LABEL_LENGTH = 63;
const MAX_SUBDOMAIN_LENGTH = 253;

const NAME_FORM = "letters, digits, '-', '_' and '.', and start and end with a letter or digit";
const DNS_LABEL_FORM = "lower-case letters, digits and '-', and start and end with a letter or digit";
const SUBDOMAIN_FORM =
  "lower-case letters, digits, '-' and '.', and each part must start and end with a letter or digit";

/** The label that the API server sets on every namespace (KEP-2161). A selector on it selects one namespace. */
export const NAME_LABEL = "kubernetes.io/metadata.name";

/** Returns the rules that `key` breaks as a label key; [] if it is valid. */
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

/** Returns the rules that `value` breaks as a label value; [] if it is valid. "" is valid. */
export function labelValueFaults(value: string): string[] {
  const faults = LABEL_VALUE.test(value) ? [] : [`a label value must be empty or consist of ${NAME_FORM}`];
  if (value.length > MAX_LABEL_LENGTH) faults.push(`a label value must have at most ${MAX_LABEL_LENGTH} characters`);
  return faults;
}

/** Returns the rules that `name` breaks as the name of a namespace (RFC 1123 label); [] if it is valid. */
export function namespaceNameFaults(name: string): string[] {
  const faults = DNS_LABEL.test(name) ? [] : [`a namespace name must consist of ${DNS_LABEL_FORM}`];
  if (name.length > MAX_LABEL_LENGTH) faults.push(`a namespace name must have at most ${MAX_LABEL_LENGTH} characters`);
  return faults;
}

/** Returns the rules that `name` breaks as the name of an object (RFC 1123 subdomain); [] if it is valid. */
export function subdomainFaults(name: string): string[] {
  const faults = DNS_SUBDOMAIN.test(name) ? [] : [`a DNS name must consist of ${SUBDOMAIN_FORM}`];
  if (name.length > MAX_SUBDOMAIN_LENGTH)
    faults.push(`a DNS name must have at most ${MAX_SUBDOMAIN_LENGTH} characters`);
  return faults;
}
