import { test } from "tap";
import { MAP_OWNER } from "../../../shared/carm/grant-by-carm.ts";
import { SELECTOR_OWNER } from "../../../shared/core/grant-session.ts";
import type { RefusedAssumeRole, RefusedToken } from "../../../shared/refusals/refused-call.ts";
import { signerCause } from "../../../shared/refusals/refusal-causes.ts";
import { refusalText } from "../../../shared/refusals/refusal-text.ts";
import { IDENTITY_OWNER } from "../../../sidecar/capa/session-calls.ts";

const ROLE = "arn:aws:iam::444455556666:role/team-a";
const CALLER = "arn:aws:sts::111122223333:assumed-role/ack/pod";
const CALL: RefusedAssumeRole = {
  action: "AssumeRole", roleARN: ROLE, owner: IDENTITY_OWNER, caller: CALLER, base: CALLER, hasPodTags: false,
  hasIdentityTags: false, sent: {
    sessionName: "s1", durationSeconds: 3600, sourceIdentity: null, hasExternalID: false, hasPolicy: false, tagKeys: [],
  },
};
const DENIED = { code: "AccessDenied", message: "STS returned AccessDenied" };
const TAGS_DENIED = {
  code: "AccessDenied", message: `User: x is not authorized to perform: sts:TagSession on resource: ${ROLE}`,
};

const TOKEN: RefusedToken = {
  action: "AssumeRoleWithWebIdentity", roleARN: ROLE, issuer: "https://oidc.example/cluster",
  audiences: ["sts.amazonaws.com"], subject: "system:serviceaccount:team-a:capa",
};

function textFor(fields: Partial<RefusedAssumeRole>, answer = DENIED, maxBytes?: number): string {
  return refusalText(answer, { ...CALL, ...fields }, maxBytes);
}

function commandFor(fields: Partial<RefusedAssumeRole>, answer = DENIED): string | undefined {
  return /Show it: `(.*)`/.exec(textFor(fields, answer))?.[1];
}

function sent(fields: Partial<RefusedAssumeRole["sent"]>): Pick<RefusedAssumeRole, "sent"> {
  return { sent: { ...CALL.sent, ...fields } };
}

test("names the principal that a trust policy needs: the role of a session, and any other caller by its ARN", (t) => {
  const principal = (caller: string | null): string | undefined => (
    / to (\S+( \(insert the path of the role, if it has one\))?) in the trust/.exec(textFor({ caller }))?.[1]
  );
  for (const session of ["aws-sdk-js-session-1790000000000", "eks-cluster-pod-0f6c", "i-0123456789abcdef0"]) {
    t.equal(
      principal(`arn:aws:sts::111122223333:assumed-role/ack/${session}`),
      "arn:aws:iam::111122223333:role/ack (insert the path of the role, if it has one)",
    );
  }
  for (const arn of [
    "arn:aws:iam::111122223333:user/ack", "arn:aws:iam::111122223333:role/team/ack",
    "arn:aws:sts::111122223333:federated-user/ack", "arn:aws:sts::111122223333:assumed-role", "unknown",
  ]) t.equal(principal(arn), arn);
  t.match(textFor({ caller: null }), /for the source of the identity: .* Allow sts:AssumeRole to the caller in the/);
  t.match(textFor({ caller: null, owner: SELECTOR_OWNER }), /for the sidecar: /);
  t.end();
});

test("names the fields of the object that names the role", (t) => {
  t.match(textFor({}), /, or name another role in spec\.roleARN of the identity\. Show/);
  t.match(textFor({ owner: MAP_OWNER }), /, or name another role in the CARM map\. Show/);
  const message = "exceeds the 1 hour session limit for roles assumed by role chaining.";
  const long = { code: "ValidationError", message };
  t.match(
    textFor(sent({ durationSeconds: 7200 }), long),
    /the session of 7200 s is longer than role chaining allows\. Set durationSeconds of the identity to at most 3600\./,
  );
  t.match(commandFor({ ...sent({ durationSeconds: 7200 }) }, long), / --session-name s1 --duration 7200$/);
  t.end();
});

test("lists every action that the call needs, and the parts of a session that are too large", (t) => {
  const call = { ...sent({ hasExternalID: true, tagKeys: ["a"], sourceIdentity: "me" }) };
  t.match(
    textFor(call),
    /Allow sts:AssumeRole with the external ID of the identity, sts:TagSession, sts:SetSourceIdentity to /,
  );
  t.match(textFor({ hasIdentityTags: true }), "Allow sts:AssumeRole, sts:TagSession to ");
  const large = { code: "PackedPolicyTooLarge", message: "112%" };
  t.match(
    textFor(sent({ tagKeys: ["a"], hasPolicy: true }), large),
    /: the session tags and the session policy together exceed .* Shorten them\. 112%$/,
  );
  t.match(textFor(sent({ hasPolicy: true }), large), "the session policy exceeds what STS can store");
  t.end();
});

test("tells a policy that exports of IAM do not contain, and a role that assumes itself", (t) => {
  const because = "STS returned AccessDenied because no resource control policy allows the sts:AssumeRole action";
  t.match(
    textFor({}, { code: "AccessDenied", message: because }),
    /: no resource control policy allows it\. Allow it there; exports of IAM do not contain such policies\. STS ret/,
  );
  t.match(textFor({ caller: ROLE }), /: since 2022, a role that assumes itself must be named/);
  t.notMatch(textFor({ caller: `${ROLE}-2` }), "assumes itself");
  const large = { code: "PackedPolicyTooLarge", message: "112%" };
  t.match(textFor({ hasPodTags: true }, large), /: the tags that EKS Pod Identity adds together exceed/);
  t.end();
});

test("writes a command that a shell passes on unchanged, with one file for each account", (t) => {
  const hostile = "arn:aws:iam::444455556666:role/$(id)/'`;&/team-a";
  t.equal(
    commandFor({ roleARN: hostile, ...sent({ sessionName: "-s", tagKeys: ["team name", "-k"] }) }),
    "ack-role-resolver trust check --iam 444455556666.json --iam 111122223333.json "
      + `--caller ${CALLER} --role 'arn:aws:iam::444455556666:role/$(id)/'\\''\`;&/team-a' `
      + "--tag 'team name=VALUE' --tag=-k=VALUE --session-name=-s",
  );
  t.match(commandFor({ caller: null }), "--iam 444455556666.json --caller ARN --role");
  t.match(commandFor({ roleARN: "arn:aws:iam::$(id):role/a" }), /check --iam 111122223333\.json --caller \S+ --role '/);
  const invisible = textFor({ roleARN: "arn:aws:iam::444455556666:role/\u202ea\nb" });
  t.match(invisible, "role/\\u202ea\\u000ab");
  t.notMatch(invisible, /[\u202e\n]/);
  t.end();
});

test("asks about the whole cluster if one question cannot state the call", (t) => {
  const cluster = "ack-role-resolver trust --cluster --iam 444455556666.json --iam 111122223333.json "
    + `--caller ${CALLER} --via sidecar`;
  t.equal(commandFor({ hasIdentityTags: true }, TAGS_DENIED), cluster);
  t.equal(commandFor({ hasIdentityTags: true, hasPodTags: true }), `${cluster} --caller-credentials pod-identity`);
  for (const key of ["a=b", "größe", "a\u2028b"]) t.equal(commandFor(sent({ tagKeys: [key] })), cluster);
  t.match(commandFor({ hasIdentityTags: true, base: null }), " --iam 444455556666.json --caller ARN --via");
  t.match(commandFor({}, TAGS_DENIED), " --caller-credentials pod-identity --role", "only such tags are inherited");
  t.end();
});

test("omits the ARNs, and then the command, if the text is too long, but cuts off none of them", (t) => {
  const tagKeys = Array.from({ length: 50 }, (_, i) => `${i}`.padEnd(100, "k"));
  t.match(textFor(sent({ tagKeys })), /the role does not exist.*Show it: `ack-role-resolver trust --cluster .*`/);
  const roleARN = `arn:aws:iam::444455556666:role/${"p".repeat(500)}/team-a`;
  t.match(textFor({ roleARN }, DENIED, 1_100), /^STS denied sts:AssumeRole: the role .*trust check .*\/team-a --ses/);
  t.match(textFor({ roleARN }, DENIED, 600), /^STS denied sts:AssumeRole: the role .*trust --cluster .*sidecar`\. S/);
  t.match(textFor({ roleARN }, DENIED, 400), /^STS denied sts:AssumeRole: .* spec\.roleARN of the identity\. STS r/);
  t.equal(textFor({ roleARN }, DENIED, 10), DENIED.message);
  t.end();
});

test("explains each rejection of the credentials that sign a call", (t) => {
  t.match(signerCause("ExpiredToken"), { cause: "its credentials have expired" });
  t.match(signerCause("InvalidClientTokenId"), { cause: /^AWS does not know its access key/ });
  t.match(signerCause("SignatureDoesNotMatch"), { fix: /synchronize the clock$/ });
  t.match(signerCause("IncompleteSignature"), { cause: "the request has no complete signature" });
  t.end();
});

test("names no cause that is a property of every object", (t) => {
  t.match(refusalText({ code: "constructor", message: "why" }, TOKEN), ": it does not accept the call. Correct what");
  t.match(signerCause("toString"), { cause: "the request has no complete signature" });
  t.end();
});

test("explains each error of AssumeRoleWithWebIdentity", (t) => {
  const provider = 'the OIDC provider of the issuer "https://oidc.example/cluster"';
  const claims = 'sub is system:serviceaccount:team-a:capa and aud is "sts.amazonaws.com"';
  const who = `Show it: \`ack-role-resolver trust who ${ROLE} --iam 444455556666.json\`. why`;
  const on = `sts:AssumeRoleWithWebIdentity on ${ROLE} for system:serviceaccount:team-a:capa: `;
  const texts: Readonly<Record<string, string>> = {
    AccessDenied: `STS denied ${on}the role does not exist, or its trust policy does not allow the token. In the trust `
      + `policy, allow sts:AssumeRoleWithWebIdentity to ${provider}, on condition that ${claims}. ${who}`,
    IDPRejectedClaim: `STS rejected ${on}the trust policy or ${provider} does not accept the claims of the token. `
      + `Compare them with the trust policy and the audiences of the provider: ${claims}. ${who}`,
    InvalidIdentityToken: `STS rejected ${on}the account of the role has no such provider, or STS cannot read its `
      + `public keys. Create ${provider} there, with the audience "sts.amazonaws.com". why`,
    ExpiredTokenException: `STS rejected ${on}the token has expired, although the sidecar requests a new one for each `
      + "call. Synchronize the clock of the API server. why",
    IDPCommunicationError: `STS rejected ${on}STS cannot read the public keys of ${provider}. Make them readable from `
      + "the internet; the sidecar retries with a new token. why",
    ValidationError: `STS rejected ${on}a parameter is not valid. Correct the parameter that the message names. why`,
  };
  for (const [code, text] of Object.entries(texts)) t.equal(refusalText({ code, message: "why" }, TOKEN), text);
  t.match(
    refusalText({ code: "InvalidIdentityToken", message: "why" }, { ...TOKEN, issuer: "", audiences: ["a", "b"] }),
    'Create the OIDC provider of the cluster there, with the audience "a" or "b". why',
  );
  t.end();
});
