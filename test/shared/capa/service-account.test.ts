import { test } from "tap";
import {
  type Identity, readIdentity, type ServiceAccountIdentity,
} from "../../../shared/capa/identity.ts";
import { serviceAccountDenial } from "../../../shared/capa/role-session.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { identityObject, roleARN } from "../capa-objects.ts";

const STS = "sts.amazonaws.com";

function isAccount(identity: Identity | null): identity is ServiceAccountIdentity {
  return identity?.kind === "AWSServiceAccountIdentity";
}

function account(spec: JsonObject, name = "sa"): ServiceAccountIdentity {
  const object = identityObject("AWSServiceAccountIdentity", name, { roleARN: roleARN("sa"), ...spec }, {
    namespace: "ns1",
  });
  const identity = readIdentity(object, "ack");
  if (!isAccount(identity)) throw new Error("not a service account identity");
  return identity;
}

test("accepts the allowed audiences and the lifetimes of a token at their limits", (t) => {
  const accepted: readonly JsonObject[] = [
    {}, { audiences: [] }, { audiences: [STS] }, { audiences: [STS, "other"] }, { expirationSeconds: 0 },
    { expirationSeconds: 600 }, { expirationSeconds: 4_294_967_296 }, { durationSeconds: 43_200 },
  ];
  for (const spec of accepted) {
    t.equal(serviceAccountDenial(account(spec), [STS, "other"]), null, JSON.stringify(spec));
  }
  t.end();
});

test("denies an audience that is not allowed, even if other audiences are allowed", (t) => {
  t.same(serviceAccountDenial(account({ audiences: [STS, "https://kubernetes.default.svc"] }), [STS]), {
    code: "ERR_IDENTITY_AUDIENCE",
    message: 'The audience "https://kubernetes.default.svc" of AWSServiceAccountIdentity "sa" is not in '
      + "--allowed-audiences. Remove it from spec.audiences. Allow an audience only if no other service, such as the "
      + "API server, accepts tokens with it.",
  });
  for (const audience of ["", "STS.amazonaws.com", "sts.amazonaws.com ", "*", 5]) {
    t.match(serviceAccountDenial(account({ audiences: [audience] }), [STS]), { code: "ERR_IDENTITY_AUDIENCE" });
  }
  t.match(serviceAccountDenial(account({}), []), { code: "ERR_IDENTITY_AUDIENCE" }, "no audience is allowed");
  t.end();
});

test("denies an identity that exceeds a limit, whose restrictions are not read", (t) => {
  const policyARNs = Array.from({ length: 20_001 }, () => "arn:aws:iam::aws:policy/ReadOnlyAccess");
  t.same(serviceAccountDenial(account({ policyARNs }), [STS]), {
    code: "ERR_IDENTITY_SESSION",
    message: 'AWSServiceAccountIdentity "sa" does not have valid parameters for AssumeRoleWithWebIdentity: the object '
      + "has more than 20000 values. Correct the fields of the identity.",
  });
  t.end();
});

test("denies each parameter that the API server or STS rejects", (t) => {
  const denied: readonly (readonly [JsonObject, string])[] = [
    [{ audiences: "https://kubernetes.default.svc" }, "audiences has a wrong type"],
    [{ audiences: Array.from({ length: 11 }, () => STS) }, "audiences has 11 values, more than 10"],
    [{ expirationSeconds: 599 }, "expirationSeconds 599 is not 600 to 4294967296"],
    [{ expirationSeconds: 4_294_967_297 }, "expirationSeconds 4294967297 is not 600 to 4294967296"],
    [{ expirationSeconds: "600" }, "expirationSeconds has a wrong type"],
    [{ tags: { team: "a" } }, "tags and transitiveTags cannot be sent with a token of a ServiceAccount"],
    [{ tags: { team: "a" }, transitiveTags: ["team"] }, "tags and transitiveTags cannot be sent"],
    [{ roleARN: "role/a" }, 'roleARN "role/a" is not the ARN of an IAM role'],
    [{ durationSeconds: 43_201 }, "durationSeconds 43201 is not 900 to 43200"],
    [{ sessionName: "planted!" }, "sessionName"],
  ];
  for (const [spec, fault] of denied) {
    const denial = serviceAccountDenial(account(spec), [STS]);
    t.equal(denial?.code, "ERR_IDENTITY_SESSION", fault);
    t.match(denial?.message, fault);
  }
  t.equal(
    serviceAccountDenial(account({ expirationSeconds: 5 }, "../token"), [STS])?.message,
    'AWSServiceAccountIdentity "../token" does not have valid parameters for AssumeRoleWithWebIdentity: "../token" is '
      + "not the name of a ServiceAccount; expirationSeconds 5 is not 600 to 4294967296. Correct the fields of the "
      + "identity.",
  );
  t.end();
});
