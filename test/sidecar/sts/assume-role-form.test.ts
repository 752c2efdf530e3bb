import type { AssumeRoleCommandInput } from "@aws-sdk/client-sts";
import { type Test, test } from "tap";
import { readAssumeRole } from "../../../sidecar/sts/assume-role-form.ts";
import { readForm } from "../../../sidecar/sts/query-protocol.ts";

const ROLE = "arn:aws:iam::111111111111:role/a";
/** The start of an STS message that reports a single fault. */
const CONSTRAINT = "1 validation error detected: VALUE failed to satisfy constraint:";

function form(parameters: Readonly<Record<string, string>>): URLSearchParams {
  return new URLSearchParams({
    Action: "AssumeRole",
    Version: "2011-06-15",
    RoleArn: ROLE,
    RoleSessionName: "ab",
    ...parameters,
  });
}

function rejects(t: Test, parameters: Readonly<Record<string, string>>, message: string | RegExp): void {
  t.throws(
    () => readAssumeRole(form(parameters)),
    { code: "ValidationError", status: 400, message },
    JSON.stringify(parameters).slice(0, 100),
  );
}

function managed(count: number, length: number): Record<string, string> {
  return Object.fromEntries(
    Array.from({ length: count }, (_, i) => [`PolicyArns.member.${i + 1}.arn`, "x".repeat(length)]),
  );
}

test("parses every parameter, and sorts list members by their number", (t) => {
  const read = readAssumeRole(
    form({
      DurationSeconds: "7200",
      ExternalId: "ext",
      SourceIdentity: "alice",
      Policy: "{}",
      SerialNumber: "GAHT12345678",
      TokenCode: "123456",
      MinimumSessionTokenSize: "0",
      ...managed(2, 20),
      "Tags.member.10.Key": "b",
      "Tags.member.10.Value": "",
      "Tags.member.9.Key": "a",
      "Tags.member.9.Value": "v",
      "TransitiveTagKeys.member.1": "a",
      "ProvidedContexts.member.1.ProviderArn": "arn:aws:iam::aws:contextProvider/x",
      "ProvidedContexts.member.1.ContextAssertion": "assertion",
    }),
  );
  t.same(read, {
    roleARN: ROLE,
    sessionName: "ab",
    durationSeconds: 7200,
    externalID: "ext",
    sourceIdentity: "alice",
    policy: "{}",
    policyARNs: ["x".repeat(20), "x".repeat(20)],
    tags: [
      { key: "a", value: "v" },
      { key: "b", value: "" },
    ],
    transitiveTagKeys: ["a"],
    identityProofs: ["SerialNumber", "TokenCode", "ProvidedContexts"],
  });
  t.end();
});

test("uses null, empty lists and 1 hour for parameters that are not in the form", (t) => {
  t.same(
    readAssumeRole(form({ Tags: "", PolicyArns: "", TransitiveTagKeys: "", ProvidedContexts: "" })),
    {
      roleARN: ROLE,
      sessionName: "ab",
      durationSeconds: 3600,
      externalID: null,
      sourceIdentity: null,
      policy: null,
      policyARNs: [],
      tags: [],
      transitiveTagKeys: [],
      identityProofs: [],
    },
    "SDKs send an empty list as its name alone",
  );
  t.end();
});

test("rejects session policies that have more than 2,048 characters in total", (t) => {
  const inline = (length: number): Record<string, string> => ({ Policy: `{"a":"${"x".repeat(length - 8)}"}` });
  t.equal(readAssumeRole(form({ ...inline(1_548), ...managed(10, 50) })).policyARNs.length, 10);
  rejects(
    t,
    { ...inline(1_549), ...managed(10, 50) },
    "1 validation error detected: Policy and PolicyArns have 2049 characters in total (limit: 2048)",
  );
  rejects(t, managed(2, 1_025), /have 2050 characters in total/);
  rejects(
    t,
    inline(2_049),
    `${CONSTRAINT.replace("VALUE", "Value at 'policy'")} Member must have length less than or equal to 2048`,
  );
  t.end();
});

test("rejects a list whose members are incomplete or exceed a limit", (t) => {
  rejects(
    t,
    { "Tags.member.1.Key": "a" },
    `${CONSTRAINT.replace("VALUE", "Value null at 'tags.member.1.Value'")} Member must not be null`,
  );
  rejects(t, { "Tags.member.1.Value": "a" }, /Value null at 'tags\.member\.1\.Key'/);
  rejects(
    t,
    { "Tags.member.1.Key": "a".repeat(129), "Tags.member.1.Value": "b".repeat(257) },
    /^2 validation errors detected: .*'tags\.member\.1\.Key' .* 128; .*'tags\.member\.1\.Value' .* 256$/,
  );
  rejects(t, { "TransitiveTagKeys.member.1": "" }, /'transitiveTagKeys\.member\.1' .* greater than or equal to 1$/);
  rejects(t, managed(1, 19), /'policyArns\.member\.1\.arn' .* greater than or equal to 20$/);
  rejects(t, managed(11, 20), /Value '11 members' at 'policyArns' .* less than or equal to 10$/);
  rejects(
    t,
    { "ProvidedContexts.member.1.ProviderArn": "x".repeat(20) },
    /Value null at 'providedContexts\.member\.1\.ContextAssertion'/,
  );
  t.end();
});

test("rejects an unknown parameter, because ignoring it could drop a restriction", (t) => {
  for (const name of [
    "policy",
    "Policy ",
    "PolicyArns.member.1",
    "PolicyArns.member.1.Arn",
    "PolicyArns.member.01.arn",
    "Tags.member.0.Key",
    "Tags.member.1.constructor",
    "Tags.Member.1.Key",
    "PolicyArns.1.arn",
    "__proto__",
    "constructor",
  ]) {
    rejects(t, { [name]: "x" }, new RegExp(`Parameter '${name.replaceAll(".", "\\.")}' is unknown`));
  }
  rejects(t, { Tags: "x" }, /Parameter 'Tags' is unknown/);
  t.end();
});

/**
 * If a new SDK release adds a parameter, this object no longer compiles. A maintainer must then decide how to treat the
 * parameter.
 */
const EVERYTHING_SENT: Record<keyof AssumeRoleCommandInput, Record<string, string>> = {
  RoleArn: { RoleArn: ROLE },
  RoleSessionName: { RoleSessionName: "ab" },
  DurationSeconds: { DurationSeconds: "900" },
  Policy: { Policy: "{}" },
  PolicyArns: managed(1, 50),
  ExternalId: { ExternalId: "ext" },
  SourceIdentity: { SourceIdentity: "alice" },
  Tags: { "Tags.member.1.Key": "a", "Tags.member.1.Value": "b" },
  TransitiveTagKeys: { "TransitiveTagKeys.member.1": "a" },
  SerialNumber: { SerialNumber: "GAHT12345678" },
  TokenCode: { TokenCode: "123456" },
  ProvidedContexts: {
    "ProvidedContexts.member.1.ProviderArn": "x".repeat(20),
    "ProvidedContexts.member.1.ContextAssertion": "x".repeat(4),
  },
  MinimumSessionTokenSize: { MinimumSessionTokenSize: "4096" },
};

test("accepts every parameter of the SDK, and validates but does not use MinimumSessionTokenSize", (t) => {
  for (const [name, parameters] of Object.entries(EVERYTHING_SENT))
    t.doesNotThrow(() => readAssumeRole(form(parameters)), name);
  const plain = readAssumeRole(form({}));
  for (const size of ["0", "1", "4096"]) t.same(readAssumeRole(form({ MinimumSessionTokenSize: size })), plain, size);
  for (const size of ["", "-1", "x", "1e3"]) {
    const fault = CONSTRAINT.replace("VALUE", `Value '${size}' at 'minimumSessionTokenSize'`);
    rejects(t, { MinimumSessionTokenSize: size }, `${fault} Member must have value greater than or equal to 0`);
  }
  rejects(t, { MinimumSessionTokenSize: "4097" }, /'minimumSessionTokenSize' .* less than or equal to 4096$/);
  t.end();
});

test("truncates a long error message and omits secret parameter values", (t) => {
  const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`x${i}`.padEnd(200, "x"), ""]));
  rejects(t, many, /^1000 validation errors detected: Parameter 'x0x{98}\.\.\.' is unknown; .*; and 990 more$/);
  for (const [name, value] of [
    ["ExternalId", "planted secret"],
    ["TokenCode", "planted"],
    ["SerialNumber", "planted secret"],
    ["Policy", "planted".repeat(300)],
  ] as const) {
    t.throws(
      () => readAssumeRole(form({ [name]: value })),
      { message: /^\d validation errors? detected: Value at '\w+' failed to satisfy constraint: / },
      name,
    );
    t.throws(() => readAssumeRole(form({ [name]: value })), { message: /^(?![^]*planted)/ }, name);
  }
  rejects(t, { RoleSessionName: "a\u001b[2K\nb" }, /Value 'a\\u001b\[2K\\u000ab' at 'roleSessionName'/);
  t.end();
});

test("rejects a source identity that starts with aws:", (t) => {
  rejects(t, { SourceIdentity: "aws:x" }, /'sourceIdentity'/);
  t.end();
});

test("rejects a form that is not UTF-8 or has a parameter twice", (t) => {
  t.same([...readForm(Buffer.from("a=%C3%A9+b&c="))], [["a", "é b"], ["c", ""]]);
  t.throws(() => readForm(Buffer.from([0x61, 0x3d, 0xff])), {
    code: "ValidationError",
    message: "The body is not UTF-8.",
  });
  t.throws(() => readForm(Buffer.from("a=1&b=2&%61=3&b=")), {
    code: "ValidationError",
    message: "Repeated parameters: a; b",
  });
  t.end();
});

test("limits the number of parameters", (t) => {
  const formOf = (size: number): Buffer => Buffer.from(Array.from({ length: size }, (_, i) => `x${i}=`).join("&"));
  t.equal(readForm(formOf(250)).size, 250);
  t.throws(() => readForm(formOf(251)), {
    code: "ValidationError", message: "The form has 251 parameters (limit: 250).",
  });
  t.end();
});
