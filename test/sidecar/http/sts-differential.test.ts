// Sends the same requests to an STS and to the sidecar. If STS rejects a request, the sidecar must reject the request
// with the same code. If STS accepts a request, the sidecar may deny the request only for a documented reason.
import { array, assert, asyncProperty, constantFrom, oneof, string, tuple } from "fast-check";
import { test } from "tap";
import { startSTSEmulator } from "../../../cli/local/sts-emulator/emulator.ts";
import { createSTS } from "../../../sidecar/sts-upstream/client.ts";
import { send as sendTo } from "../../loopback-request.ts";
import { BASE_IDENTITY, BASE_SECRET, ROLE_A, SidecarUnderTest } from "../sidecar-under-test.ts";
import { elementOf, send, signed, type SignedRequest, type VendedKeys } from "../sts/signed-request.ts";

const BASE = { accessKeyID: "ASIABASE", secretAccessKey: BASE_SECRET, sessionToken: `${BASE_SECRET}-token` };
const REQUESTS = 500;

type Parameters = Readonly<Record<string, string | undefined>>;

const LONG = "x".repeat(1_300);
const VALID: Parameters = {
  Action: "AssumeRole",
  Version: "2011-06-15",
  RoleArn: ROLE_A,
  RoleSessionName: "aws-go-sdk-1",
};

function each(name: string, ...values: readonly (string | undefined)[]): Parameters[] {
  return values.map((value) => ({ [name]: value }));
}

function managed(count: number): Parameters {
  return Object.fromEntries(
    Array.from({ length: count }, (_, i) => [
      `PolicyArns.member.${i + 1}.arn`,
      `arn:aws:iam::aws:policy/Policy${i}${"x".repeat(200)}`,
    ]),
  );
}

function tagged(tags: readonly (readonly [key: string, value: string])[]): Parameters {
  return Object.fromEntries(
    tags.flatMap(([key, value], i) => [
      [`Tags.member.${i + 1}.Key`, key],
      [`Tags.member.${i + 1}.Value`, value],
    ]),
  );
}

/** Each entry changes parameters of a valid request. Some changes are harmless, and some make the request invalid. */
const CHANGES: readonly Parameters[] = [
  ...each(
    "RoleArn",
    undefined,
    "",
    "arn:aws:iam::1:r",
    "arn:aws:iam::111111111111:user/u",
    "arn:aws:iam::111111111111:role/other",
    "arn:aws:iam::222222222222:role/a",
    `arn:aws:iam::111111111111:role/${LONG}`,
  ),
  ...each("RoleSessionName", undefined, "", "a", "ab", "a".repeat(64), "a".repeat(65), "a b", "\u00fcn\u00ef"),
  ...each("DurationSeconds", "899", "900", "1800", "3600", "3601", "43200", "43201", "-1", "1e3", "", "x", " 900"),
  ...each("ExternalId", "x", "given", "a b", LONG),
  ...each("SourceIdentity", "x", "alice", "aws:x"),
  ...each("Policy", "{}", '{"Statement":[]}', "{", "7", "", "x".repeat(2_049), `{"x":"${LONG}"}`, "[1"),
  ...each("SerialNumber", "GAHT12345678", "short"),
  ...each("TokenCode", "123456", "12345"),
  ...each("Unknown", "x"),
  ...each("MinimumSessionTokenSize", "0"),
  ...each("TransitiveTagKeys.member.1", "team", ""),
  ...each("Tags.member.0.Key", "a"),
  ...each("Tags.member.2.Other", "a"),
  ...each("Tags.member.7.Key", "a"),
  ...each("PolicyArns.member.1", "arn:aws:iam::aws:policy/ReadOnlyAccess"),
  ...each("Tags", "", "x"),
  ...each("PolicyArns", ""),
  {
    "ProvidedContexts.member.1.ProviderArn": "arn:aws:iam::aws:contextProvider/x",
    "ProvidedContexts.member.1.ContextAssertion": "assertion",
  },
  ...each("ProvidedContexts.member.1.ProviderArn", "arn:aws:iam::aws:contextProvider/x"),
  managed(1),
  managed(8),
  managed(10),
  managed(11),
  tagged([
    ["Team", "a"],
    ["team", "b"],
  ]),
  tagged([["team", ""]]),
  ...[50, 51].map((count) => tagged(Array.from({ length: count }, (_, i) => [`k${i}`, "v"]))),
];
const someTags = array(tuple(string({ maxLength: 130 }), string({ maxLength: 20 })), {
  minLength: 1,
  maxLength: 3,
}).map(tagged);
const change = oneof({ arbitrary: constantFrom(...CHANGES), weight: 9 }, { arbitrary: someTags, weight: 1 });
const body = array(change, { maxLength: 2 }).map((changes) => {
  const parameters = Object.entries<string | undefined>(Object.assign({}, VALID, ...changes));
  return new URLSearchParams(
    parameters.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  ).toString();
});

/** Returns true if the documentation lists a reason to deny the request. STS may accept such a request. */
function isDocumentedDenial(form: URLSearchParams): boolean {
  const names = [...form.keys()];
  return (
    form.get("RoleArn") !== ROLE_A ||
    names.some((name) =>
      /^(ExternalId|SourceIdentity|SerialNumber|TokenCode|(Tags|TransitiveTagKeys|ProvidedContexts)\.)/.test(name),
    )
  );
}

async function post(base: string, { method, url, headers, payload }: SignedRequest): Promise<string> {
  const { status, body: xml } = await sendTo(`${base}${url}`, { method, headers, body: payload });
  return status === 200 ? "ok" : (elementOf(xml, "Code") ?? "no XML");
}

test(`returns the same results as STS for ${REQUESTS} AssumeRole requests, except documented denials`, async (t) => {
  const emulator = await startSTSEmulator({ baseCredentials: [{ ...BASE, arn: BASE_IDENTITY.arn }] });
  t.teardown(() => emulator.close());
  const sts = createSTS({ endpoint: emulator.url, region: null });
  const sidecar = new SidecarUnderTest({
    assumeRole: (request) => sts.assumeRole({ ...BASE, expirationMs: null }, request, AbortSignal.timeout(5_000)),
  });
  sidecar.clock.jump(Date.now() - sidecar.clock.now());
  const keys = (await sidecar.get("/v1/credentials")).json<VendedKeys>();
  const seen = new Map<string, number>();
  const requests = asyncProperty(body, async (text) => {
    const request = await signed({ keys, body: text, now: Date.now() });
    const direct = await post(emulator.url, request);
    const before = sidecar.stsCalls.length;
    const { code } = await send(sidecar.app, request);
    const isDenial = direct === "ok" && isDocumentedDenial(new URLSearchParams(text));
    const expected = isDenial ? "AccessDenied" : direct;
    seen.set(expected, (seen.get(expected) ?? 0) + 1);
    if (code !== expected) throw new Error(`STS returned ${direct}, the sidecar ${code}, expected ${expected}`);
    if (code !== "ok" && sidecar.stsCalls.length > before) throw new Error(`${code} after a call to STS`);
  });
  await t.resolves(assert(requests, { numRuns: REQUESTS, seed: 20_260_801 }));
  t.comment(Object.fromEntries(seen));
  for (const verdict of ["ok", "AccessDenied", "ValidationError", "MalformedPolicyDocument"])
    t.ok((seen.get(verdict) ?? 0) >= 5, `${verdict}: ${seen.get(verdict)}`);
});
