import type { AssumeRoleCommandInput } from "@aws-sdk/client-sts";
import { type Test, test } from "tap";
import { readAssumeRole } from "../../../sidecar/sts/assume-role-form.ts";
import { readForm } from "../../../sidecar/sts/form.ts";

const ROLE = "arn:aws:iam::111111111111:role/a";

function form(parameters: Readonly<Record<string, string>>): URLSearchParams {
  return new URLSearchParams({ Action: "AssumeRole", Version: "2011-06-15", RoleArn: ROLE, RoleSessionName: "ab", ...parameters });
}

function refused(t: Test, parameters: Readonly<Record<string, string>>, message: string | RegExp): void {
  t.throws(() => readAssumeRole(form(parameters)), { code: "ValidationError", status: 400, message }, JSON.stringify(parameters).slice(0, 100));
}

function managed(count: number, length: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, i) => [`PolicyArns.member.${i + 1}.arn`, "x".repeat(length)]));
}

test("everything that can be asked, lists in the order of their numbers", (t) => {
  const read = readAssumeRole(form({
    DurationSeconds: "7200", ExternalId: "ext", SourceIdentity: "alice", Policy: "{}", SerialNumber: "GAHT12345678", TokenCode: "123456", MinimumSessionTokenSize: "0",
    ...managed(2, 20), "Tags.member.10.Key": "b", "Tags.member.10.Value": "", "Tags.member.9.Key": "a", "Tags.member.9.Value": "v", "TransitiveTagKeys.member.1": "a",
    "ProvidedContexts.member.1.ProviderArn": "arn:aws:iam::aws:contextProvider/x", "ProvidedContexts.member.1.ContextAssertion": "assertion",
  }));
  t.same(read, {
    roleARN: ROLE, sessionName: "ab", durationSeconds: 7200, externalID: "ext", sourceIdentity: "alice", policy: "{}", policyARNs: ["x".repeat(20), "x".repeat(20)],
    tags: [{ key: "a", value: "v" }, { key: "b", value: "" }], transitiveTagKeys: ["a"], proofs: ["SerialNumber", "TokenCode", "ProvidedContexts"],
  });
  t.end();
});

test("what is not said is null, empty, or an hour", (t) => {
  t.same(readAssumeRole(form({ Tags: "", PolicyArns: "", TransitiveTagKeys: "", ProvidedContexts: "" })), {
    roleARN: ROLE, sessionName: "ab", durationSeconds: 3600, externalID: null, sourceIdentity: null, policy: null, policyARNs: [], tags: [], transitiveTagKeys: [], proofs: [],
  }, "an empty list is sent by its bare name");
  t.end();
});

test("inline and managed policies have 2,048 characters together", (t) => {
  const inline = (length: number): Record<string, string> => ({ Policy: `{"a":"${"x".repeat(length - 8)}"}` });
  t.equal(readAssumeRole(form({ ...inline(1_548), ...managed(10, 50) })).policyARNs.length, 10);
  refused(t, { ...inline(1_549), ...managed(10, 50) }, "1 validation error detected: Policy and PolicyArns together have 2049 characters, and may have 2048");
  refused(t, managed(2, 1_025), /together have 2050 characters/);
  refused(t, inline(2_049), /^1 validation error detected: Value at 'policy' failed to satisfy constraint: Member must have length less than or equal to 2048$/);
  t.end();
});

test("each member of a list is whole and within its limits", (t) => {
  refused(t, { "Tags.member.1.Key": "a" }, "1 validation error detected: Value null at 'tags.member.1.Value' failed to satisfy constraint: Member must not be null");
  refused(t, { "Tags.member.1.Value": "a" }, /Value null at 'tags\.member\.1\.Key'/);
  refused(t, { "Tags.member.1.Key": "a".repeat(129), "Tags.member.1.Value": "b".repeat(257) }, /^2 validation errors detected: .*'tags\.member\.1\.Key' .* 128; .*'tags\.member\.1\.Value' .* 256$/);
  refused(t, { "TransitiveTagKeys.member.1": "" }, /'transitiveTagKeys\.member\.1' .* greater than or equal to 1$/);
  refused(t, managed(1, 19), /'policyArns\.member\.1\.arn' .* greater than or equal to 20$/);
  refused(t, managed(11, 20), /Value '11 members' at 'policyArns' .* less than or equal to 10$/);
  refused(t, { "ProvidedContexts.member.1.ProviderArn": "x".repeat(20) }, /Value null at 'providedContexts\.member\.1\.ContextAssertion'/);
  t.end();
});

test("what is not known is refused, so that no restriction gets lost", (t) => {
  for (const name of ["policy", "Policy ", "PolicyArns.member.1", "PolicyArns.member.1.Arn", "PolicyArns.member.01.arn", "Tags.member.0.Key", "Tags.member.1.constructor", "__proto__", "constructor"]) {
    refused(t, { [name]: "x" }, new RegExp(`Parameter '${name.replaceAll(".", "\\.")}' is not known`));
  }
  refused(t, { Tags: "x" }, /Parameter 'Tags' is not known/);
  t.end();
});

/** A new release of the SDK that sends something else does not compile here, so that somebody decides on it. */
const EVERYTHING_SENT: Record<keyof AssumeRoleCommandInput, Record<string, string>> = {
  RoleArn: { RoleArn: ROLE }, RoleSessionName: { RoleSessionName: "ab" }, DurationSeconds: { DurationSeconds: "900" }, Policy: { Policy: "{}" }, PolicyArns: managed(1, 50),
  ExternalId: { ExternalId: "ext" }, SourceIdentity: { SourceIdentity: "alice" }, Tags: { "Tags.member.1.Key": "a", "Tags.member.1.Value": "b" },
  TransitiveTagKeys: { "TransitiveTagKeys.member.1": "a" }, SerialNumber: { SerialNumber: "GAHT12345678" }, TokenCode: { TokenCode: "123456" },
  ProvidedContexts: { "ProvidedContexts.member.1.ProviderArn": "x".repeat(20), "ProvidedContexts.member.1.ContextAssertion": "x".repeat(4) },
  MinimumSessionTokenSize: { MinimumSessionTokenSize: "4096" },
};

test("everything that the SDK can send is known, and a session token's size is looked at though it changes nothing", (t) => {
  for (const [name, parameters] of Object.entries(EVERYTHING_SENT)) t.doesNotThrow(() => readAssumeRole(form(parameters)), name);
  const plain = readAssumeRole(form({}));
  for (const size of ["0", "1", "4096"]) t.same(readAssumeRole(form({ MinimumSessionTokenSize: size })), plain, size);
  for (const size of ["", "-1", "x", "1e3"]) refused(t, { MinimumSessionTokenSize: size }, `1 validation error detected: Value '${size}' at 'minimumSessionTokenSize' failed to satisfy constraint: Member must have value greater than or equal to 0`);
  refused(t, { MinimumSessionTokenSize: "4097" }, /'minimumSessionTokenSize' .* less than or equal to 4096$/);
  t.end();
});

test("a message is short however much was sent, and repeats no secret", (t) => {
  const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`x${i}`.padEnd(200, "x"), ""]));
  refused(t, many, /^1000 validation errors detected: Parameter 'x0x{98}\.\.\.' is not known; .*; and 990 more$/);
  for (const [name, value] of [["ExternalId", "planted secret"], ["TokenCode", "planted"], ["SerialNumber", "planted secret"], ["Policy", "planted".repeat(300)]] as const) {
    t.throws(() => readAssumeRole(form({ [name]: value })), { message: /^\d validation errors? detected: Value at '\w+' failed to satisfy constraint: / }, name);
    t.throws(() => readAssumeRole(form({ [name]: value })), { message: /^(?![^]*planted)/ }, name);
  }
  refused(t, { RoleSessionName: "a\u001b[2K\nb" }, /Value 'a\\u001b\[2K\\u000ab' at 'roleSessionName'/);
  t.end();
});

test("a source identity may not start with aws:", (t) => {
  refused(t, { SourceIdentity: "aws:x" }, /'sourceIdentity'/);
  t.end();
});

test("a form is UTF-8, and names each parameter once", (t) => {
  t.same([...readForm(Buffer.from("a=%C3%A9+b&c="))], [["a", "é b"], ["c", ""]]);
  t.throws(() => readForm(Buffer.from([0x61, 0x3d, 0xff])), { code: "ValidationError", message: "The body is not UTF-8." });
  t.throws(() => readForm(Buffer.from("a=1&b=2&%61=3&b=")), { code: "ValidationError", message: "These parameters are given more than once: a; b" });
  t.end();
});
