import { type Test, test } from "tap";
import type { SourceStatus } from "../../../shared/sources/source.ts";
import { IdentitySecrets } from "../../../sidecar/capa/access-keys.ts";
import { FakeClock } from "../fake-clock.ts";
import { STATIC as IDENTITY } from "./setup.ts";
import { SECRET_NAMESPACE, type SecretData, secretData, SecretServer } from "./secret-server.ts";

function dataOf(id: string): SecretData {
  return secretData({ AccessKeyID: id, SecretAccessKey: `planted-${id}` });
}

class Setup {
  readonly clock = new FakeClock();
  readonly server = new SecretServer(this.clock, { creds: dataOf("AKIA1") });
  readonly results: string[] = [];
  readonly statuses: SourceStatus[] = [];
  readonly accounts: string[] = [];
  readonly secrets = new IdentitySecrets({
    api: this.server.api, clock: this.clock, random: () => 0, namespace: SECRET_NAMESPACE,
    onRead: (result) => void this.results.push(result),
    onAccount: (name, accountID, { uid, resourceVersion }) => (
      void this.accounts.push([name, accountID, uid, resourceVersion].join(" "))
    ),
    onStatus: (status) => void this.statuses.push(status),
  });

  static async start(t: Test): Promise<Setup> {
    const setup = new Setup();
    setup.secrets.start();
    t.teardown(() => setup.secrets.stop());
    await setup.clock.advance(1_000);
    return setup;
  }
}

test("watches only the metadata of the Secrets, and reads a Secret once until it changes", async (t) => {
  const { server, secrets, results } = await Setup.start(t);
  t.same(server.reads, []);
  const [list, watch] = server.requests;
  t.match(list?.accept, /as=PartialObjectMetadataList/);
  t.match(watch?.accept, /as=PartialObjectMetadata;/);
  const [first, second] = await Promise.all([secrets.get(IDENTITY), secrets.get(IDENTITY)]);
  t.match(first, { accessKeyID: "AKIA1", secretAccessKey: "planted-AKIA1", sessionToken: null });
  t.equal(first, second);
  t.equal(await secrets.get(IDENTITY), first);
  t.same([server.reads, results], [["creds"], ["ok"]]);
  t.notMatch(first.digest, /AKIA|planted/);
});

test("reads a known Secret as soon as the watch reports a change, and no other Secret", async (t) => {
  const { server, secrets, clock } = await Setup.start(t);
  const first = await secrets.get(IDENTITY);
  await server.change("creds", dataOf("AKIA1"));
  await server.change("other", dataOf("AKIA3"));
  t.same(server.reads, ["creds", "creds"]);
  t.equal(secrets.isCurrent(IDENTITY, first), true, "the content is the same");
  t.equal(await secrets.get(IDENTITY), first);
  await server.change("creds", dataOf("AKIA2"));
  t.equal(secrets.isCurrent(IDENTITY, first), false);
  const changed = await secrets.get(IDENTITY);
  t.equal(changed.accessKeyID, "AKIA2");
  t.not(changed.digest, first.digest);
  t.equal(secrets.isCurrent(IDENTITY, changed), true);
  await clock.advance(60_000);
  t.equal(server.reads.length, 3);
});

test("reports the account of an access key for each content that has the key", async (t) => {
  const { server, secrets, accounts } = await Setup.start(t);
  secrets.learn(IDENTITY, await secrets.get(IDENTITY), "111122223333");
  await server.change("creds", dataOf("AKIA1"));
  t.same(accounts, ["creds 111122223333 uid-creds 1", "creds 111122223333 uid-creds 2"]);
  const old = await secrets.get(IDENTITY);
  await server.change("creds", dataOf("AKIA2"));
  secrets.learn(IDENTITY, old, "111122223333");
  t.equal(accounts.length, 2, "the new key can be of another account");
  await server.change("creds", null);
  await server.change("creds", dataOf("AKIA1"));
  secrets.learn(IDENTITY, await secrets.get(IDENTITY), "444455556666");
  t.equal(accounts.at(-1), "creds 444455556666 uid-creds 5");
});

test("reads a Secret again if it changes during a read", async (t) => {
  const { server, secrets, clock } = await Setup.start(t);
  const { promise, resolve } = Promise.withResolvers<void>();
  await secrets.get(IDENTITY);
  server.delay = promise;
  await server.change("creds", dataOf("AKIA2"));
  await server.change("creds", dataOf("AKIA3"));
  t.equal(server.reads.length, 2, "the first change is still read");
  resolve();
  await clock.advance(0);
  t.match(await secrets.get(IDENTITY), { accessKeyID: "AKIA3" });
  t.equal(server.reads.length, 3);
});

test("does not use the last access key if a changed Secret cannot be read", async (t) => {
  const { server, secrets, clock } = await Setup.start(t);
  const first = await secrets.get(IDENTITY);
  server.delay = new Promise(() => {});
  await server.change("creds", dataOf("AKIA2"));
  await clock.advance(800);
  t.equal(secrets.isCurrent(IDENTITY, first), false);
  const rejected = t.rejects(secrets.get(IDENTITY), {
    code: "ERR_CLUSTER_UNREADABLE",
    message: "The Secret capa-system/creds could not be read: the API server did not respond within 800 ms. "
      + "Retry the request.",
  });
  await clock.advance(800);
  await rejected;
});

test("rejects a missing, deleted or invalid Secret without its values", async (t) => {
  const { server, secrets, results } = await Setup.start(t);
  await server.change("creds", { accessKeyID: "cGxhbnRlZA==" });
  const fault = /^AWSClusterStaticIdentity "s" has no access key in the Secret capa-system\/creds: its key AccessKey/;
  await t.rejects(secrets.get(IDENTITY), { code: "ERR_IDENTITY_SECRET", message: fault });
  await t.rejects(secrets.get(IDENTITY), { code: "ERR_IDENTITY_SECRET" });
  t.same(results, ["invalid"], "an invalid Secret is read once");
  await t.rejects(secrets.get({ ...IDENTITY, secretName: "other" }), {
    code: "ERR_IDENTITY_SECRET", message: /capa-system\/other: the Secret does not exist\./,
  });
  await server.change("creds", null);
  await t.rejects(secrets.get(IDENTITY), { code: "ERR_IDENTITY_SECRET", message: /the Secret does not exist/ });
  t.same(results, ["invalid"]);
});

test("reads a Secret that is too large once, and does not parse it", async (t) => {
  const { server, secrets, results } = await Setup.start(t);
  await server.change("creds", { ...dataOf("AKIA1"), other: "x".repeat(300_000) });
  for (let i = 0; i < 2; i++) {
    await t.rejects(secrets.get(IDENTITY), {
      code: "ERR_IDENTITY_SECRET", message: /capa-system\/creds: the Secret has more than 262144 bytes\. /,
    });
  }
  t.same(results, ["invalid"]);
  await server.change("creds", { ...dataOf("AKIA1"), other: "x".repeat(200_000) });
  t.match(await secrets.get(IDENTITY), { accessKeyID: "AKIA1" });
});

test("rejects with a temporary error before the list, and if the API server returns an error", async (t) => {
  const unstarted = new Setup();
  t.same(unstarted.secrets.status, { loaded: false, lastSyncMs: null, fault: null });
  await t.rejects(unstarted.secrets.get(IDENTITY), {
    code: "ERR_NOT_READY",
    message: "The Secrets in the namespace capa-system are not listed yet. Retry in a moment.",
  });
  const { server, secrets, results } = await Setup.start(t);
  server.status = 403;
  await t.rejects(secrets.get(IDENTITY), {
    code: "ERR_CLUSTER_UNREADABLE",
    message: "The Secret capa-system/creds could not be read: GET /api/v1/namespaces/capa-system/secrets/creds: "
      + "the API server returned 403 (no reason); apply the objects of `ack-role-resolver manifests rbac`. "
      + "Retry the request.",
  });
  t.same(results, ["failed"]);
});

test("never treats Secrets that cannot be listed as missing, and states the role that is needed", async (t) => {
  const setup = new Setup();
  setup.server.status = 403;
  setup.secrets.start();
  t.teardown(() => setup.secrets.stop());
  await setup.clock.advance(1_000);
  const fault = /^not allowed to list secrets in the namespace capa-system; grant this user or ServiceAccount the /;
  t.match(setup.secrets.status, { loaded: false, lastSyncMs: null, fault });
  await t.rejects(setup.secrets.get(IDENTITY), {
    code: "ERR_NOT_READY", message: /manifests rbac --identity-secret-namespace capa-system"/,
  });
  setup.server.status = 200;
  await setup.clock.advance(60_000);
  t.match(await setup.secrets.get(IDENTITY), { accessKeyID: "AKIA1" });
  t.same(setup.statuses.at(0)?.loaded, false);
  t.match(setup.statuses.at(-1), { loaded: true, fault: null });
});

test("uses the last list while the watch is down, and states its age", async (t) => {
  const { server, secrets, clock } = await Setup.start(t);
  const key = await secrets.get(IDENTITY);
  const startMs = clock.steady();
  server.status = 500;
  await clock.advance(400_000);
  t.match(secrets.status, { loaded: true, fault: /^the API server returned 500 on watch secrets/ });
  t.ok((secrets.status.lastSyncMs ?? 0) - startMs < 100_000, "the watch was current for at most 90 s");
  t.equal(await secrets.get(IDENTITY), key);
});
