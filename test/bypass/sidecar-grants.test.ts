// Ways to more than is granted, by one who is believed: a controller, or whoever took over its container. Named by what the attacker does.
import { test } from "tap";
import { namespaceObject, put, selectorObject } from "../shared/decisions/objects.ts";
import { ROLE_A, SCOPED, TEAM_A } from "../sidecar/sidecar-under-test.ts";
import { assumeBody, elementOf, signed, WHO } from "../sidecar/sts/signed-request.ts";
import { ASSUME, Attack, OTHER_ROLE } from "./attack.ts";

const attack = new Attack();

test("credentials of another sidecar are used here", async (t) => {
  const strange = await attack.elsewhere().keys("/v1/credentials/selectors/team-a");
  t.match(await new Attack().send(await signed({ keys: { ...strange, AccessKeyId: "ASIAELSEWHERE" }, body: ASSUME, now: attack.sidecar.clock.now() })), { status: 403, code: "InvalidClientTokenId" });
  const identityOnly = await new Attack({ identityOnly: true }).keys();
  t.match(await new Attack({ identityOnly: true }).send(await signed({ keys: identityOnly, body: ASSUME, now: attack.sidecar.clock.now() })), { status: 403, code: "InvalidClientTokenId" });
});

test("the base identity's true credentials, stolen elsewhere, where only keys of ours are vended", async (t) => {
  const hardened = new Attack({ identityOnly: true });
  const stolen = await new Attack().keys();
  await hardened.keys();
  t.match(await hardened.send(await signed({ keys: stolen, body: ASSUME, now: hardened.sidecar.clock.now() })), { status: 403, code: "InvalidClientTokenId" });
});

test("a role assumes the next one", async (t) => {
  const chain = new Attack();
  const role = await chain.keys("/v1/credentials/selectors/team-a");
  t.match(await chain.send(await chain.request({ keys: role })), { status: 403, code: "AccessDenied", message: /^Role chaining is not granted/ });
  t.equal(await chain.after(() => ({}), { keys: role, body: WHO }), "ok", "though it is known");
});

test("a role is asked for that no selector grants, or one grants to another controller, or in another spelling", async (t) => {
  const ungranted = new Attack();
  for (const RoleArn of ["arn:aws:iam::999999999999:role/ack", OTHER_ROLE, ROLE_A.toUpperCase().replace("ARN:AWS:IAM", "arn:aws:iam").replace("ROLE", "role"), ROLE_A.replace("role/a", "role//a"), `${ROLE_A} `, ROLE_A.replace("aws", "aws-cn"), "arn:aws:iam::111111111111:role/*"]) {
    const { code, status } = await ungranted.send(await ungranted.request({ body: assumeBody({ RoleArn }) }));
    t.ok((code === "AccessDenied" && status === 403) || (code === "ValidationError" && status === 400), `${RoleArn}: ${code}`);
  }
  t.same(ungranted.sidecar.stsCalls, [], "STS was asked for none");
});

test("a selector that the webhook never saw has a fault, or conflicts: nothing is granted on it", async (t) => {
  const faulty = new Attack({ objects: [namespaceObject("team-a"), selectorObject("bad", { arn: ROLE_A, namespaceSelector: { names: ["team-a", "team-a"] } })] });
  t.equal(await faulty.after(() => ({})), "AccessDenied");
  const extras = { ...selectorObject("twin", { arn: ROLE_A, namespaceSelector: { names: ["elsewhere"] } }), metadata: { name: "twin", annotations: { "ack-role-resolver.io/external-id": "other" } } };
  const torn = new Attack();
  torn.sidecar.inventory.apply([put(extras)]);
  t.equal(await torn.after(() => ({})), "AccessDenied", "two selectors of one role that ask for different sessions");
  t.same([...faulty.sidecar.stsCalls, ...torn.sidecar.stsCalls], []);
});

test("a tenant's sidecar is asked for another tenant's role, by every way there is", async (t) => {
  const other = selectorObject("other", { arn: OTHER_ROLE, namespaceSelector: { names: ["other"] } });
  const scoped = new Attack({ objects: [namespaceObject("team-a"), namespaceObject("other"), TEAM_A, other], ...SCOPED });
  await scoped.keys();
  for (const url of ["/v1/credentials/namespaces/other", "/v1/credentials/selectors/other", "/v1/credentials/namespaces/team-a?kind=DBInstance.rds.services.k8s.aws", "/v1/credentials?namespace=other"]) {
    t.notMatch((await scoped.get(url)).body, "SecretAccessKey", url);
  }
  t.equal(await scoped.after(() => ({}), { body: assumeBody({ RoleArn: OTHER_ROLE }) }), "AccessDenied");
  t.ok(scoped.sidecar.stsCalls.every(({ roleARN }) => roleARN === ROLE_A));
});

test("the session is dressed up: another's source identity, tags, external ID, MFA, or name", async (t) => {
  const dressed = new Attack();
  for (const extra of [{ SourceIdentity: "root" }, { "Tags.member.1.Key": "team", "Tags.member.1.Value": "b" }, { ExternalId: "guess" }, { SerialNumber: "arn:aws:iam::1:mfa/x", TokenCode: "123456" }, { "TransitiveTagKeys.member.1": "team" }]) {
    t.equal(await dressed.after(() => ({}), { body: assumeBody({ RoleArn: ROLE_A, ...extra }) }), "AccessDenied", JSON.stringify(extra));
  }
  t.same(dressed.sidecar.stsCalls, []);
  t.equal(await dressed.after(() => ({}), { body: assumeBody({ RoleArn: ROLE_A, RoleSessionName: "somebody-else" }) }), "ok");
  t.match(dressed.sidecar.stsCalls, [{ sessionName: "ack-role-resolver" }], "the name is not the client's");
});

test("a wider session is asked for after a narrow one, and a narrow one gives nobody else's", async (t) => {
  const both = new Attack();
  const narrow = assumeBody({ RoleArn: ROLE_A, Policy: '{"Statement":[]}' });
  const keyOf = async (body: string): Promise<string | null> => elementOf((await both.send(await both.request({ body }))).body, "AccessKeyId");
  t.not(await keyOf(narrow), await keyOf(ASSUME));
  t.equal(await keyOf(narrow), await keyOf(narrow));
  t.match(both.sidecar.stsCalls, [{ policy: '{"Statement":[]}' }, { policy: null }]);
});

test("a kind is asked for that the controller does not manage, by the one path that takes a kind", async (t) => {
  const topic = selectorObject("topic", { arn: OTHER_ROLE, namespaceSelector: { names: ["team-a"] }, resourceTypeSelector: [{ group: "s3.services.k8s.aws", kind: "Vault" }] });
  const bucket = selectorObject("bucket", { arn: ROLE_A, namespaceSelector: { names: ["team-a"] }, resourceTypeSelector: [{ group: "s3.services.k8s.aws", kind: "Bucket" }] });
  const narrowed = new Attack({ objects: [namespaceObject("team-a"), topic, bucket], kinds: [{ kind: "Bucket", version: "v1alpha1", group: null }] });
  t.equal((await narrowed.get("/v1/credentials/selectors/topic")).statusCode, 403);
  t.equal(await narrowed.after(() => ({}), { body: assumeBody({ RoleArn: OTHER_ROLE }) }), "AccessDenied");
  for (const kind of ["Vault.s3.services.k8s.aws", "Vault.v1alpha1.s3.services.k8s.aws", "Bucket.v2.s3.services.k8s.aws"]) {
    t.match(await narrowed.get(`/v1/credentials/namespaces/team-a?kind=${kind}`).then((answer) => [answer.statusCode, answer.json()]), [403, { code: "ERR_SELECTOR_NOT_GRANTED", message: "That kind is not served here; --kind allows Bucket.v1alpha1." }], kind);
  }
  for (const kind of ["Bucket.s3.services.k8s.aws", "Bucket.v1alpha1.s3.services.k8s.aws"]) {
    t.match((await narrowed.get(`/v1/credentials/namespaces/team-a?kind=${kind}`)).json(), { AccountId: "111111111111" }, kind);
  }
});
