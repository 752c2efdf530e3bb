import {
  ACCOUNT_ID, ARN_LENGTH, MAX_PATH_LENGTH, parseARN, PARTITION, PARTS_BEFORE_RESOURCE, REGION, ROLE_NAME, ROLE_PATH,
  roleARNFaults,
} from "../formats/arn.ts";
import { anyCase, body, not, regexp, text, texts } from "../formats/cel.ts";
import {
  DNS_LABEL, DNS_SUBDOMAIN, LABEL_VALUE, labelKeyFaults, labelValueFaults, MAX_LABEL_LENGTH, MAX_SUBDOMAIN_LENGTH,
  namespaceNameFaults, QUALIFIED_NAME,
} from "../formats/names.ts";
import { quote } from "../formats/text.ts";
import { DURATION_SECONDS, readDuration, sourceIdentityFaults, textFaults } from "./session-annotations.ts";
import { DURATION_LIMITS, EXTERNAL_ID_LIMITS, SESSION_NAME_LIMITS, type TextLimits } from "./session.ts";

/** The type of a text in a field, for the checks and for the admission policies. */
export interface ValueType {
  /** Returns each rule that the text violates, as a clause; [] for a valid text. */
  readonly faults: (value: string) => readonly string[];
  /** Returns a CEL expression that is true if and only if `faults` returns []. `value` is an expression too. */
  readonly cel: (value: string) => string;
  /** Texts with which the tests compare both halves. */
  readonly valid: readonly string[];
  readonly invalid: readonly string[];
}

export const FILLED: ValueType = {
  faults: (value) => (value === "" ? ["is empty"] : []),
  cel: (value) => `${value} != ""`,
  valid: ["a", " "], invalid: [""],
};

const ARN_PATTERN = text(`^arn:([^:]*:){${PARTS_BEFORE_RESOURCE - 1}}`);

export const ARN: ValueType = {
  faults(value) {
    if (parseARN(value) !== null) return [];
    return [value.startsWith("arn:") ? "it has fewer than six parts separated by ':'" : "it does not start with arn:"];
  },
  cel: (value) => `${value}.matches(${ARN_PATTERN})`,
  valid: ["arn:::::", "arn:aws:iam::111122223333:role/a", "arn:a:b:c:d:e:f:g"],
  invalid: ["", "arn", "rn:::::", "ARN:::::", "arn:aws:iam:111122223333:role/a", " arn:::::"],
};

const ROLE_PATTERN = text(
  `^arn:${body(PARTITION)}:iam::${body(ACCOUNT_ID)}:role${body(ROLE_PATH)}${body(ROLE_NAME)}$`,
);

export const ROLE_ARN: ValueType = {
  faults(value) {
    const arn = parseARN(value);
    return arn === null ? ["it is not an ARN"] : roleARNFaults(value, arn);
  },
  // The first `/` of a role ARN is the start of its path, and the last `/` is the end of its path.
  cel: (value) => `size(${value}) >= ${ARN_LENGTH.min} && size(${value}) <= ${ARN_LENGTH.max} && `
    + `${value}.matches(${ROLE_PATTERN}) && ${value}.lastIndexOf("/") - ${value}.indexOf("/") < ${MAX_PATH_LENGTH}`,
  valid: ["arn:aws:iam::111122223333:role/a", "arn:aws-cn:iam::111122223333:role/ack/team=a/b.c"],
  invalid: [
    "", "a", "arn:aws:iam::111122223333:user/a", "arn:aws:iam::1111:role/a", "arn:aws:iam:eu:111122223333:role/a",
    "arn:aws:sts::111122223333:role/a", "arn:gcp:iam::111122223333:role/a", "arn:aws:iam::111122223333:role/a b",
    `arn:aws:iam::111122223333:role/${"a".repeat(65)}`, `arn:aws:iam::111122223333:role/${"a".repeat(512)}/b`,
  ],
};

export const REGION_NAME: ValueType = {
  faults: (value) => (REGION.test(value) ? [] : ["is not a region"]),
  cel: (value) => `${value}.matches(${regexp(REGION)})`,
  valid: ["eu-west-1", "us-gov-east-1", "cn-north-1"],
  invalid: ["", "Frankfurt", "eu-west", "eu-west-1a", "eu-west-1\n"],
};

/** A text with a length and characters that STS limits. The characters are ASCII, so CEL counts them alike. */
function limited(limits: TextLimits, valid: readonly string[], invalid: readonly string[]): ValueType {
  const { min, max, pattern } = limits;
  return {
    faults: (value) => textFaults(value, limits),
    cel: (value) => `size(${value}) >= ${min} && size(${value}) <= ${max} && ${value}.matches(${regexp(pattern)})`,
    valid: [...valid, "a".repeat(min), "a".repeat(max)],
    invalid: [...invalid, "", "é", "a b", "ſſ", "a\u{FEFF}", "😀😀", "a".repeat(max + 1)],
  };
}

export const EXTERNAL_ID = limited(EXTERNAL_ID_LIMITS, ["a:b/c=d"], ["a", "a;b"]);
export const SESSION_NAME = limited(SESSION_NAME_LIMITS, ["ack-team_a", "a=b,c.d@e+f"], ["a", "a:b", "a/b"]);

export const SOURCE_IDENTITY: ValueType = {
  faults: sourceIdentityFaults,
  cel: (value) => `${SESSION_NAME.cel(value)} && ${not(`${value}.matches(${text(`^${anyCase("aws")}:`)})`)}`,
  valid: [...SESSION_NAME.valid, "aws-team"], invalid: [...SESSION_NAME.invalid, "aws:a", "AWS:a"],
};

const { min: MIN_SECONDS, max: MAX_SECONDS } = DURATION_LIMITS;

export const SESSION_SECONDS: ValueType = {
  faults(value) {
    const seconds = readDuration(value);
    if (seconds === null) return ["is not a number of seconds"];
    const isWithin = seconds >= MIN_SECONDS && seconds <= MAX_SECONDS;
    return isWithin ? [] : [`is outside the limits of ${MIN_SECONDS} to ${MAX_SECONDS} s`];
  },
  cel: (value) => `${value}.matches(${regexp(DURATION_SECONDS)}) && `
    + `int(${value}) >= ${MIN_SECONDS} && int(${value}) <= ${MAX_SECONDS}`,
  valid: ["900", "000900", "3600", "43200"],
  invalid: ["", "899", "43201", "1h", "-900", "900.0", "9999999999", "٩٠٠"],
};

export const NAMESPACE_NAME: ValueType = {
  faults: namespaceNameFaults,
  cel: (value) => `size(${value}) <= ${MAX_LABEL_LENGTH} && ${value}.matches(${regexp(DNS_LABEL)})`,
  valid: ["a", "team-a", "0", "a".repeat(63)], invalid: ["", "Team", "team-*", "-a", "a.b", "a\n", "a".repeat(64)],
};

const LABEL_KEY_PATTERN = text(`^(${body(DNS_SUBDOMAIN)}/)?${body(QUALIFIED_NAME)}$`);

export const LABEL_KEY: ValueType = {
  faults: labelKeyFaults,
  // The length of the whole key bounds the cost of the pattern.
  cel: (value) => `size(${value}) <= ${MAX_SUBDOMAIN_LENGTH + 1 + MAX_LABEL_LENGTH} && `
    + `${value}.matches(${LABEL_KEY_PATTERN}) && ${value}.lastIndexOf("/") <= ${MAX_SUBDOMAIN_LENGTH} && `
    + `size(${value}) - ${value}.lastIndexOf("/") - 1 <= ${MAX_LABEL_LENGTH}`,
  valid: ["team", "a.b/c", "A_b.c-d", `${"a".repeat(253)}/${"b".repeat(63)}`],
  invalid: ["", "/a", "a/", "a/b/c", "A/b", "a b", "-a", "a".repeat(64), `${"a".repeat(254)}/b`],
};

export const LABEL_VALUE_TEXT: ValueType = {
  faults: labelValueFaults,
  cel: (value) => `size(${value}) <= ${MAX_LABEL_LENGTH} && ${value}.matches(${regexp(LABEL_VALUE)})`,
  valid: ["", "a", "very_gold.1-a"], invalid: ["very gold", "-a", "a-", "é", "a".repeat(64)],
};

/** Returns the type of a text that is one of the values. */
export function oneOf(values: readonly string[], fault: string): ValueType {
  return {
    faults: (value) => (values.includes(value) ? [] : [fault]),
    cel: (value) => `${value} in ${texts(values)}`,
    valid: values, invalid: ["", "no such value", ...values.map((value) => `${value} `)],
  };
}

/** The only policy with which a controller deletes the AWS resource. Controllers treat other values as retain. */
export const DELETION_POLICY_DELETE = "delete";
export const DELETION_POLICY = oneOf(
  [DELETION_POLICY_DELETE, "retain"], "is neither delete nor retain, so controllers treat it as retain",
);

export const TRUE_OR_FALSE: ValueType = {
  faults: (value) => (/^(true|false)$/i.test(value) ? [] : ['is neither "true" nor "false"']),
  cel: (value) => `${value}.matches(${text(`^(${anyCase("true")}|${anyCase("false")})$`)})`,
  valid: ["true", "FALSE", "True"], invalid: ["", "yes", "1", "falſe", "true "],
};

/** Splits a URI into its parts: https://www.rfc-editor.org/rfc/rfc3986#appendix-B. */
const URI = /^([A-Za-z][A-Za-z0-9+.-]*):\/\/([^/?#]*)([^?#]*)(\?[^#]*)?(#.*)?$/s;
const HOST_AND_PORT = /^(([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?)|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?$/;
const PATH_CHARACTERS = /^[A-Za-z0-9/._~!$&'()*+,;=:@%-]*$/;
const ENDPOINT_PATTERN = text(`^${anyCase("https")}://${body(HOST_AND_PORT)}(/${body(PATH_CHARACTERS)})?$`);

/**
 * The number of characters of a URL that CEL reads, which bounds the cost of the pattern. If a URL is valid, its first
 * characters are a valid URL too.
 */
const ENDPOINT_CHARACTERS = 4_096;

/** The faults quote only the scheme and the host, because the URL may contain a password. */
export const ENDPOINT_URL: ValueType = {
  faults: endpointFaults,
  cel: (value) => `${firstOf(value)}.matches(${ENDPOINT_PATTERN})`,
  valid: ["https://a", "HTTPS://minio.team-a.svc:9000/path/%20", "https://[::1]:443/"],
  invalid: ["", "a", "http://a", "https://a:b@c", "https://", "https://a b", "https://a?b", "https://a#b", "https://a/ é"],
};

/** Returns a CEL expression: the first characters of a URL. */
export function firstOf(url: string): string {
  return `(size(${url}) > ${ENDPOINT_CHARACTERS} ? ${url}.substring(0, ${ENDPOINT_CHARACTERS}) : ${url})`;
}

function endpointFaults(url: string): string[] {
  const parts = URI.exec(url);
  if (parts === null) return ["the endpoint is not a URL"];
  const [, scheme = "", authority = "", path = "", query, fragment] = parts;
  const host = hostAndPortOf(authority);
  const protocol = scheme.toLowerCase();
  const faults: readonly (readonly [isFault: boolean, message: string])[] = [
    [protocol !== "https", `the endpoint uses ${protocol}, not https, so anyone on the network path can read the `
      + "requests"],
    [host !== authority, "the endpoint contains credentials, which every reader of the namespace can see"],
    [!HOST_AND_PORT.test(host), `the endpoint has no valid host: ${quote(host)}`],
    [(query ?? fragment) !== undefined, "the endpoint has a query or a fragment, which AWS endpoints do not have"],
    [!PATH_CHARACTERS.test(path), "the path of the endpoint has characters that are not allowed in a URL"],
  ];
  return faults.filter(([isFault]) => isFault).map(([, message]) => message);
}

/** Returns `HOST` or `HOST:PORT`: the authority without its credentials. */
function hostAndPortOf(authority: string): string {
  return authority.slice(authority.lastIndexOf("@") + 1);
}

/** Returns `HOST` or `HOST:PORT` of a valid URL in lower case. */
export function hostOfURL(url: string): string {
  return url.replace(/^[a-z]+:\/\/([^/]*).*$/is, "$1").toLowerCase();
}

/** Every type, by its name in the tests. */
export const VALUE_TYPES: Readonly<Record<string, ValueType>> = {
  FILLED, ARN, ROLE_ARN, REGION_NAME, EXTERNAL_ID, SESSION_NAME, SOURCE_IDENTITY, SESSION_SECONDS, NAMESPACE_NAME,
  LABEL_KEY, LABEL_VALUE_TEXT, DELETION_POLICY, TRUE_OR_FALSE, ENDPOINT_URL,
};
