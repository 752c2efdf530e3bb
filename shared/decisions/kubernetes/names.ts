// Kubernetes' own rules for names and labels, to the character.
// Source: k8s.io/apimachinery v0.35 pkg/util/validation/validation.go and pkg/api/validate/content.
const QUALIFIED_NAME = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
const LABEL_VALUE = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/;
const DNS_LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const DNS_SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

const LABEL_LENGTH = 63;
const SUBDOMAIN_LENGTH = 253;

const NAME_FORM = "letters, digits, '-', '_' and '.', starting and ending with a letter or digit";

/** What is wrong with `key` as a label key, one phrase a fault; [] when it is one. */
export function labelKeyFaults(key: string): string[] {
  const slash = key.indexOf("/");
  if (slash !== key.lastIndexOf("/")) return ["a label key has at most one '/', between prefix and name"];
  const name = key.slice(slash + 1);
  const faults = slash < 0 ? [] : prefixFaults(key.slice(0, slash));
  if (name === "") faults.push("the name part of a label key is not empty");
  else if (!QUALIFIED_NAME.test(name)) faults.push(`the name part of a label key consists of ${NAME_FORM}`);
  if (name.length > LABEL_LENGTH) faults.push(`the name part of a label key has at most ${LABEL_LENGTH} characters`);
  return faults;
}

function prefixFaults(prefix: string): string[] {
  if (prefix === "") return ["the prefix of a label key is not empty"];
  return subdomainFaults(prefix).map((fault) => `in the prefix of a label key: ${fault}`);
}

/** What is wrong with `value` as a label value; "" is one. */
export function labelValueFaults(value: string): string[] {
  const faults = LABEL_VALUE.test(value) ? [] : [`a label value is empty or consists of ${NAME_FORM}`];
  if (value.length > LABEL_LENGTH) faults.push(`a label value has at most ${LABEL_LENGTH} characters`);
  return faults;
}

/** What is wrong with `name` as a namespace's name (RFC 1123 label). */
export function namespaceNameFaults(name: string): string[] {
  const faults = DNS_LABEL.test(name)
    ? []
    : ["a namespace name consists of lower-case letters, digits and '-', starting and ending with a letter or digit"];
  if (name.length > LABEL_LENGTH) faults.push(`a namespace name has at most ${LABEL_LENGTH} characters`);
  return faults;
}

/** What is wrong with `name` as an object's name (RFC 1123 subdomain). */
export function subdomainFaults(name: string): string[] {
  const faults = DNS_SUBDOMAIN.test(name)
    ? []
    : ["a DNS name consists of lower-case letters, digits, '-' and '.', each part starting and ending with a letter or digit"];
  if (name.length > SUBDOMAIN_LENGTH) faults.push(`a DNS name has at most ${SUBDOMAIN_LENGTH} characters`);
  return faults;
}

/** Every namespace carries it (KEP-2161), so a selector on it names one namespace. */
export const NAME_LABEL = "kubernetes.io/metadata.name";
