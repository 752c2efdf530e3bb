import { test } from "tap";
import type { SessionRequest } from "../../../shared/core/session.ts";
import { ResolverError } from "../../../shared/formats/errors.ts";
import { ScopedBase } from "../../../sidecar/base/scoped-base.ts";
import { CredentialCache } from "../../../sidecar/credentials/cache.ts";
import type { Credentials } from "../../../sidecar/credentials/session.ts";
import { UpstreamSTSError } from "../../../sidecar/sts-upstream/errors.ts";
import { FakeClock } from "../fake-clock.ts";

const ARN = "arn:aws:sts::111122223333:assumed-role/ack/pod";
const POLICIES = { policy: '{"Statement":[]}', policyARNs: [] };
const OWN: Credentials = {
  accessKeyID: "ASIAOWN", secretAccessKey: "secret", sessionToken: "token", expirationMs: null,
  accountID: "111122223333", arn: ARN, userID: "AROA:pod",
};

interface Setup {
  readonly arn?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly error?: Error;
}

interface Subject {
  /** Resolves to the access key ID of the limited credentials. */
  readonly get: () => Promise<string | null>;
  readonly calls: readonly unknown[];
  readonly reasons: readonly string[];
}

function scopedBase({ arn = ARN, environment = {}, error }: Setup): Subject {
  const [calls, reasons]: [unknown[], string[]] = [[], []];
  const answer = async (caller: string, request: SessionRequest): Promise<Credentials> => {
    calls.push([caller, request.roleARN, request.policy]);
    if (error !== undefined) throw error;
    return { ...OWN, accessKeyID: "ASIALIMITED" };
  };
  const base = new ScopedBase({
    base: { get: async () => OWN, whenVerified: async () => ({ arn, isSession: true, hasPodTags: false }) },
    sts: {
      assumeRole: ({ accessKeyID }, request) => answer(accessKeyID, request),
      assumeRoleWithWebIdentity: (token, request) => answer(token, request),
    },
    sessions: new CredentialCache({ clock: new FakeClock(), random: () => 0.5 }),
    environment, sessionName: "sidecar", region: "eu-west-1", onUnlimited: (reason) => reasons.push(reason),
  });
  const get = async (): Promise<string | null> => (await base.get(POLICIES))?.accessKeyID ?? null;
  return { get, calls, reasons };
}

test("limits the base identity by the token of IRSA, or by a role that assumes itself", async (t) => {
  const file = `${t.testdir({ token: "web-token\n" })}/token`;
  const role = "arn:aws:iam::111122223333:role/path/ack";
  const irsa = scopedBase({ environment: { AWS_WEB_IDENTITY_TOKEN_FILE: file, AWS_ROLE_ARN: role } });
  t.same([await irsa.get(), await irsa.get()], ["ASIALIMITED", "ASIALIMITED"]);
  t.same(irsa.calls, [["web-token", role, POLICIES.policy]], "one session for all clients");
  const pods = scopedBase({});
  t.equal(await pods.get(), "ASIALIMITED");
  t.same(pods.calls, [["ASIAOWN", "arn:aws:iam::111122223333:role/ack", POLICIES.policy]]);
  t.same([...irsa.reasons, ...pods.reasons], []);
});

test("tells why the base identity cannot be limited", async (t) => {
  const denial = { stsCode: "AccessDenied", stsStatus: 403 };
  const refused = scopedBase({ error: new UpstreamSTSError("not trusted", denial) });
  t.equal(await refused.get(), null);
  t.same(refused.reasons, ["not trusted"]);
  const user = scopedBase({ arn: "arn:aws:iam::111122223333:user/jane" });
  t.equal(await user.get(), null);
  t.same([user.reasons, user.calls], [["arn:aws:iam::111122223333:user/jane is not a session of a role"], []]);
  const down = scopedBase({ error: new ResolverError("ERR_STS_UNAVAILABLE", "down") });
  await t.rejects(down.get(), { code: "ERR_STS_UNAVAILABLE" }, "a failure of STS never opens anything");
});
