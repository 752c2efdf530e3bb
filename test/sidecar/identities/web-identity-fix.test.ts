import { test } from "tap";
import { webIdentityFix } from "../../../sidecar/refused-roles/refused-identities.ts";
import { accountIdentity } from "./setup.ts";

const ISSUER = "https://oidc.example/cluster";

test("returns the fix for each error of AssumeRoleWithWebIdentity", (t) => {
  const claims = 'sub is system:serviceaccount:team-a:capa and aud is "sts.amazonaws.com"';
  const provider = `the OIDC provider of the issuer "${ISSUER}"`;
  const fixes: Readonly<Record<string, string>> = {
    AccessDenied: "In the trust policy of arn:aws:iam::111122223333:role/capa, allow sts:AssumeRoleWithWebIdentity to "
      + `${provider}, on condition that ${claims}.`,
    IDPRejectedClaim: "Compare the token with the trust policy of arn:aws:iam::111122223333:role/capa and with the "
      + `audiences of ${provider}: ${claims}.`,
    InvalidIdentityToken: `In account 111122223333, create ${provider}, with the audience "sts.amazonaws.com". STS `
      + "must be able to read the public keys of the issuer.",
    ExpiredTokenException: "The sidecar requests a new token for each call. Synchronize the clock of the API server.",
    IDPCommunicationError: `STS must be able to read the public keys of ${provider}. The sidecar retries with a new `
      + "token.",
    ValidationError: "",
  };
  for (const [code, fix] of Object.entries(fixes)) t.equal(webIdentityFix(accountIdentity(), code, ISSUER), fix);
  const unknown = webIdentityFix(accountIdentity(), "InvalidIdentityToken", "");
  t.match(unknown, /create the OIDC provider of the cluster, with/);
  t.match(webIdentityFix(accountIdentity({ audiences: ["a", "b"] }), "AccessDenied", ""), /aud is "a" or "b"\.$/);
  t.end();
});
