import * as fc from "fast-check";
import { selectorObject } from "../shared/objects.ts";
import { ROLE_A, SidecarUnderTest } from "../sidecar/sidecar-under-test.ts";
import { assumeBody, FORM, HOST, send, signed, type VendedKeys } from "../sidecar/sts/signed-request.ts";
import { type Hostile, hostile, repeat, size, toJSON, unit } from "./hostile.ts";
import { type Target, target } from "./target.ts";

/**
 * The permitted HTTP statuses. The sidecar must not return a 5xx, because its STS and its inventory are available in
 * these tests.
 */
const STATUSES: ReadonlySet<number> = new Set([200, 400, 401, 403, 404, 405, 409, 413, 415]);
/** The limits of the HTTP parser. The test must respect these limits, because its requests bypass the parser. */
export const HEADER_BYTES = 8 * 1024;
const BODY_BYTES = 64 * 1024;
const MAX_RESPONSE = 100_000;

const PARAMETERS = [
  "Action", "Version", "RoleArn", "RoleSessionName", "ExternalId", "SourceIdentity", "Policy", "SerialNumber",
  "TokenCode", "DurationSeconds", "MinimumSessionTokenSize", "PolicyArns", "PolicyArns.member.1.arn", "Tags",
  "Tags.member.1.Key", "Tags.member.1.Value", "Tags.member.99999.Key", "Tags.member.01.Key", "ProvidedContexts",
  "TransitiveTagKeys.member.1", "ProvidedContexts.member.1.ProviderArn", "ProvidedContexts.member.1.ContextAssertion",
  "__proto__", "constructor", "",
] as const;
const VALUES = [
  "AssumeRole", "GetCallerIdentity", "AssumeRoleWithWebIdentity", "2011-06-15", "arn:aws:iam::111111111111:role/a",
  "session", "3600", "43200", "1e9", "-1", '{"Version":"2012-10-17"}', "{", "{}", "", "%", "%00", "%ff", "+", "a=b",
  "<a>&amp;",
] as const;

interface Text {
  readonly unit: string;
  readonly size: number;
}

export const text: fc.Arbitrary<Text> = fc.oneof(
  fc.constantFrom(...VALUES).map((value) => ({ unit: value, size: 1 })), fc.record({ unit, size }),
);

function textOf(one: Text): string {
  return repeat(one.unit, one.size).slice(0, BODY_BYTES);
}

const sidecar = new SidecarUnderTest();
const controller = (await sidecar.get("/v1/credentials")).json<VendedKeys>();

interface Response {
  readonly status: number;
  readonly body: string;
}

/** Throws if the response has an unexpected status, or is too large. */
export function check({ status, body }: Response, { logLines } = sidecar): void {
  const start = body.slice(0, 500);
  if (!STATUSES.has(status)) throw new Error(`HTTP ${status}: ${start} ${logLines.at(-1) ?? ""}`);
  if (body.length > MAX_RESPONSE) throw new Error(`the response has ${body.length} characters: ${start}`);
  logLines.length = 0;
}

const parameter = fc.record({ name: fc.oneof(fc.constantFrom(...PARAMETERS), unit), value: text });
const VALID = assumeBody({ RoleArn: ROLE_A });

/** Sends forms that have hostile parameters to /sts. */
export const FORMS: Target = target("forms", {
  input: fc.record({
    isValid: fc.boolean(), parameters: fc.array(parameter, { maxLength: 6 }),
    /** Text that is appended to the encoded form. */
    raw: text,
    isSigned: fc.boolean(),
  }),
  async expand({ isValid, parameters, raw, isSigned }) {
    const form = new URLSearchParams(parameters.map(({ name, value }) => [name, textOf(value)])).toString();
    const body = `${isValid ? `${VALID}&` : ""}${form}${textOf(raw)}`.slice(0, BODY_BYTES);
    const request = await signed({ keys: controller, body, now: sidecar.clock.now() });
    return isSigned ? request : { ...request, headers: { host: HOST, "content-type": FORM } };
  },
  run: async (request) => check(await send(sidecar.app, request)),
});

const HEADER_NAMES = [
  "authorization", "x-amz-date", "x-amz-security-token", "x-amz-content-sha256", "content-type", "host", "expect",
  "transfer-encoding", "x-amz-target", "constructor",
] as const;
const SIGNATURE_PARTS = [
  "AWS4-HMAC-SHA256 ", "Credential=", "ASIA", "/", "20260101", "eu-west-1", "sts", "aws4_request", ", ", "Signature=",
  "SignedHeaders=", "host;x-amz-date", ";", "0".repeat(64), "=", ",", "AWS4-ECDSA-P256-SHA256 ",
  "x-amz-security-token;",
] as const;
const signaturePart = fc.record({ unit: fc.oneof(fc.constantFrom(...SIGNATURE_PARTS), unit), size: fc.nat(2_000) });
const headerChange = fc.record({
  name: fc.constantFrom(...HEADER_NAMES),
  /** The index of the part of the valid header that is replaced, or -1 for the whole header. */
  at: fc.integer({ min: -1, max: 8 }),
  parts: fc.array(signaturePart, { maxLength: 6 }),
});

/** Sends requests to /sts whose SigV4 headers have hostile parts. */
export const SIGNATURES: Target = target("signatures", {
  input: fc.array(headerChange, { maxLength: 3 }),
  async expand(changes) {
    const request = await signed({ keys: controller, now: sidecar.clock.now() });
    const headers = new Map(Object.entries(request.headers));
    for (const { name, at, parts } of changes) {
      const value = parts.map(textOf).join("").replaceAll(/[^\t -~\u0080-\u00ff]/g, "").slice(0, HEADER_BYTES);
      const pieces = (headers.get(name) ?? "").split(/(?<=[ /=,;])/);
      headers.set(name, at < 0 ? value.trim() : pieces.with(at % pieces.length, value).join("").trim());
    }
    return { ...request, headers: Object.fromEntries(headers) };
  },
  run: async (request) => check(await send(sidecar.app, request)),
});

/** Sends requests to /v1/credentials that have hostile names, kinds and labels. */
export const QUERIES: Target = target("queries", {
  input: fc.record({
    path: fc.constantFrom("namespaces/team-a", "namespaces/", "selectors/team-a", "selectors/", ""),
    name: text,
    parameters: fc.array(
      fc.record({ name: fc.constantFrom("kind", "label", "labels", "", "__proto__"), value: text, times: size }),
      { maxLength: 4 },
    ),
  }),
  expand({ path, name, parameters }) {
    const pairs = parameters.map(({ name: key, value, times }) =>
      repeat(`${key}=${encoded(value)}&`, Math.min(times, HEADER_BYTES)));
    return `/v1/credentials/${path}${encoded(name)}?${pairs.join("")}`.slice(0, HEADER_BYTES).replace(/%.?$/, "");
  },
  async run(url) {
    const { statusCode, body } = await sidecar.get(url);
    check({ status: statusCode, body });
  },
});

export function encoded(value: Text): string {
  return encodeURIComponent(textOf(value).slice(0, HEADER_BYTES).replaceAll(/[\ud800-\udfff]/g, ""));
}

const SPECS = ["arn", "namespaceSelector", "resourceTypeSelector", "resourceLabelSelector", "x"] as const;
const ANNOTATIONS = [
  "external-id", "session-name", "source-identity", "session-tags", "duration-seconds", "allow",
] as const;

/** Adds hostile IAMRoleSelectors to the inventory of a sidecar. */
export const SELECTORS: Target = target("selectors", {
  input: fc.record({
    spec: fc.array(fc.record({ field: fc.constantFrom(...SPECS), value: hostile }), { maxLength: 2 }),
    annotations: fc.array(fc.record({ name: fc.constantFrom(...ANNOTATIONS), value: hostile }), { maxLength: 2 }),
    /** The only namespace and kind of the selector. Session tags can repeat the values of both. */
    namespace: fc.option(text), kind: fc.option(text),
  }),
  expand({ spec, annotations, namespace, kind }) {
    const valid = {
      arn: "arn:aws:iam::111111111111:role/hostile",
      namespaceSelector: { names: [namespace === null ? "team-a" : repeat(namespace.unit, namespace.size)] },
      ...(kind !== null && { resourceTypeSelector: [{ kind: repeat(kind.unit, kind.size) }] }),
    };
    const object = selectorObject("hostile", { ...valid, ...parsed(spec.map((one) => [one.field, one.value])) });
    const fields = annotations.map((one) => [`ack-role-resolver.io/${one.name}`, one.value] as const);
    return { ...object, metadata: { name: "hostile", annotations: parsed(fields) } };
  },
  async run(object) {
    const subject = new SidecarUnderTest();
    subject.inventory.apply([{ type: "put", object }]);
    for (const path of ["selectors/hostile", "selectors/team-a", "namespaces/team-a?kind=Bucket.s3.services.k8s.aws"]) {
      const { statusCode, body } = await subject.get(`/v1/credentials/${path}`);
      check({ status: statusCode, body }, subject);
    }
  },
});

export function parsed(fields: readonly (readonly [string, Hostile])[]): Record<string, unknown> {
  return Object.fromEntries(fields.map(([name, value]): [string, unknown] => [name, JSON.parse(toJSON(value))]));
}
