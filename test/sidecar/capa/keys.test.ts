import * as fc from "fast-check";
import { test } from "tap";
import type { IdentityGrant } from "../../../shared/capa/grant-by-identity.ts";
import type { RoleIdentity, StaticIdentity } from "../../../shared/capa/identity.ts";
import type { CredentialCache } from "../../../sidecar/credentials/cache.ts";
import { IdentitySessions } from "../../../sidecar/capa/identity-sessions.ts";
import { roleOfSession } from "../../../sidecar/credentials/session.ts";
import type { StaticKey } from "../../../sidecar/capa/access-keys.ts";
import { parameters } from "../../shared/property.ts";
import { accountIdentity, OPTIONS, roleOf, STATIC, staticKey } from "./setup.ts";

/** Texts that are equal when their parts are joined with a separator. */
const text = fc.stringMatching(/^[ab:./-]{0,4}$/);
const tag = fc.record({ key: text, value: text });
const role = fc.record({
  name: text, roleARN: text, sessionName: fc.option(text), externalID: fc.option(text), inlinePolicy: fc.option(text),
  durationSeconds: fc.constantFrom(null, 900, 3600), policyARNs: fc.array(text, { maxLength: 2 }),
  tags: fc.array(tag, { maxLength: 2 }), transitiveTags: fc.array(text, { maxLength: 2 }),
}).map(({ name, ...rest }) => roleOf(name, rest));
const roleList = fc.array(role, { maxLength: 3 });

/** A request for an identity. `key` is the access key in the Secret of `source`. */
interface Requested {
  readonly roles: readonly RoleIdentity[];
  readonly source: IdentityGrant["source"];
  readonly key: StaticKey;
  readonly base: string;
  readonly region: string | null;
}

const account = fc.record({
  name: text, namespace: text, uid: fc.option(text), roleARN: text, sessionName: fc.option(text),
  inlinePolicy: fc.option(text),
  durationSeconds: fc.constantFrom(null, 900, 3600), policyARNs: fc.array(text, { maxLength: 2 }),
  audiences: fc.array(text, { minLength: 1, maxLength: 3 }), expirationSeconds: fc.constantFrom(600, 86_400),
}).map((fields) => accountIdentity(fields));
const origin = fc.record({
  source: fc.oneof(fc.option(text.map((name): StaticIdentity => ({ ...STATIC, name }))), account),
  key: text.map(staticKey),
  base: fc.constantFrom("a", "b:a").map((name) => `arn:aws:iam::999999999999:user/${name}`),
  region: fc.constantFrom(null, "eu-west-1", "eu-west-2"),
});
const requested = fc.tuple(roleList, origin).map(([roles, one]): Requested => ({ roles, ...one }));

function requestOf(roles: readonly RoleIdentity[]): Requested {
  const base = "arn:aws:iam::999999999999:user/capa";
  return { roles, source: null, key: staticKey("1"), base, region: "eu-west-1" };
}

function ofAccount(fields: Parameters<typeof accountIdentity>[0]): Requested {
  return { ...requestOf([]), source: accountIdentity(fields) };
}

async function keyOf({ roles, source, key: secret, base, region }: Requested): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const cache: Pick<CredentialCache, "get" | "evict"> = {
    get({ key }) {
      resolve(key);
      return fail();
    },
    evict: () => {},
  };
  const sessions = new IdentitySessions({ ...OPTIONS, region }, {
    base: {
      get: fail, whenVerified: async () => ({ arn: base, isSession: false, hasPodTags: false }), invalidate: () => {},
    },
    sts: { assumeRole: fail, assumeRoleWithWebIdentity: fail, callerIdentity: fail },
    secrets: { get: async () => secret, isCurrent: () => true, learn: () => {} },
    sessions: cache,
    tokens: { request: fail },
    isCurrent: () => true,
  });
  const grant: IdentityGrant = { verdict: "identity", source, roles };
  await sessions.get(grant).catch(() => {});
  return await promise;
}

function fail(): Promise<never> {
  return Promise.reject(new Error("not called"));
}

/** Returns the same text for two requests exactly if they are for the same identities with the same parameters. */
function distinct({ roles, source, key, base, region }: Requested): string {
  const chain = roles.map((one) => [
    one.name, one.roleARN, one.sessionName ?? OPTIONS.sessionName, one.externalID, one.inlinePolicy,
    one.durationSeconds ?? 3600, one.policyARNs.toSorted(), one.transitiveTags.toSorted(),
    one.tags.map((pair) => JSON.stringify([pair.key, pair.value])).toSorted(),
  ]);
  if (source?.kind === "AWSServiceAccountIdentity") {
    return JSON.stringify([
      source.name, source.namespace, source.uid, source.roleARN, source.sessionName ?? OPTIONS.sessionName,
      source.inlinePolicy, source.durationSeconds ?? 3600, source.policyARNs.toSorted(), source.audiences,
      source.expirationSeconds, region,
    ]);
  }
  const first = source === null ? [base] : [source.name, key.digest];
  // The access key of a static identity does not depend on the Region.
  return JSON.stringify([first, chain, roles.length === 0 ? null : region]);
}

/** Requests that often differ only in how their texts are divided, or in one part. */
const similar = fc.oneof(
  fc.tuple(text, text).map(([a, b]) => [
    requestOf([roleOf(a, { roleARN: b })]), requestOf([roleOf(`${a}${b.slice(0, 1)}`, { roleARN: b.slice(1) })]),
  ]),
  fc.tuple(text, text).map(([a, b]) => [
    requestOf([roleOf("r", { roleARN: a, sessionName: b })]),
    requestOf([roleOf("r", { roleARN: `${a}${b.slice(0, 1)}`, sessionName: b.slice(1) })]),
  ]),
  fc.tuple(text, text).map(([a, b]) => [
    ofAccount({ namespace: a, name: b }), ofAccount({ namespace: `${a}${b.slice(0, 1)}`, name: b.slice(1) }),
  ]),
  fc.tuple(text, text).map(([a, b]) => [ofAccount({ audiences: [a, b] }), ofAccount({ audiences: [`${a},${b}`] })]),
  fc.tuple(requested, fc.nat(2)).map(([one, i]) => [one, { ...one, roles: one.roles.slice(i) }]),
  fc.tuple(requested, origin).map(([one, other]) => [one, { ...one, ...other }]),
  fc.tuple(requested, text).map(([one, name]) => [
    one, { ...one, roles: one.roles.map((each, i) => (i === 0 ? { ...each, name } : each)) },
  ]),
);

test("two requests share a session key only if their chains have the same identities and parameters", async (t) => {
  let shared = 0;
  const hasKey = ({ roles, source }: Requested): boolean => roles.length > 0 || source !== null;
  const pair = fc.oneof(fc.tuple(requested, requested), similar);
  await fc.assert(fc.asyncProperty(pair, async ([one, other]) => {
    if (one === undefined || other === undefined || !hasKey(one) || !hasKey(other)) return;
    const areEqual = await keyOf(one) === await keyOf(other);
    if (areEqual !== (distinct(one) === distinct(other))) throw new Error("the keys do not match the requests");
    if (areEqual) shared += 1;
  }), parameters(t, 5_000));
  t.ok(shared > 100, `${shared} pairs share a key`);
});

test("a service account identity shares no session with another identity or namespace", async (t) => {
  const roleFields = { roleARN: "arn:aws:iam::111122223333:role/a", sessionName: "s" };
  await fc.assert(fc.asyncProperty(text, text, text, async (name, namespace, other) => {
    const requests = [
      ofAccount({ ...roleFields, name, namespace }), requestOf([roleOf(name, roleFields)]),
      { ...requestOf([]), source: { ...STATIC, name } },
      ...(other === namespace ? [] : [ofAccount({ ...roleFields, name, namespace: other })]),
      ...(other === name ? [] : [ofAccount({ ...roleFields, name: other, namespace })]),
    ];
    const keys = await Promise.all(requests.map(keyOf));
    if (new Set(keys).size < keys.length) throw new Error(`equal keys: ${keys.join(" ")}`);
  }), parameters(t, 1_000));
  t.pass();
});

test("a session key contains the ARN of its role, but no other parameter", async (t) => {
  const planted = { externalID: "planted", inlinePolicy: "planted", tags: [{ key: "planted", value: "planted" }] };
  const key = await keyOf(requestOf([roleOf("planted-source"), roleOf("a", planted)]));
  t.notMatch(key, "planted");
  t.equal(roleOfSession(key), "arn:aws:iam::111122223333:role/a");
  const accountKey = await keyOf(ofAccount({ inlinePolicy: "planted" }));
  t.notMatch(accountKey, "planted");
  t.equal(roleOfSession(accountKey), "arn:aws:iam::111122223333:role/capa");
});
