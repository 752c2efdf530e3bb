import { test } from "tap";
import type { StaticIdentity } from "../../shared/decisions/identities/identity.ts";
import type { KubernetesAPI, KubernetesRequest } from "../../shared/inventory/cluster/api.ts";
import { IdentitySecrets } from "../../sidecar/identity-secrets.ts";
import { FakeClock } from "./fake-clock.ts";

const SECRETS = "/api/v1/namespaces/capa-system/secrets";
const IDENTITY: StaticIdentity = {
  kind: "AWSClusterStaticIdentity", name: "s", namespace: "", resourceVersion: "1",
  allowedNamespaces: { type: "all" }, secretName: "creds",
};

function dataOf(id: string): Record<string, string> {
  const base64 = (text: string): string => Buffer.from(text).toString("base64");
  return { AccessKeyID: base64(id), SecretAccessKey: base64(`planted-${id}`) };
}

/** An API server that has at most one Secret. A watch reports the changes of its metadata. */
class SecretServer {
  readonly clock = new FakeClock();
  readonly requests: KubernetesRequest[] = [];
  readonly reads: string[] = [];
  data: Record<string, string> | null = dataOf("AKIA1");
  version = 1;
  status = 200;
  #watch: ((line: string) => void) | null = null;
  readonly api: KubernetesAPI = { request: (request) => this.#answer(request) };
  readonly secrets = new IdentitySecrets({
    api: this.api, clock: this.clock, random: () => 0, namespace: "capa-system",
    onRead: (result) => void this.reads.push(result),
  });

  async start(): Promise<void> {
    this.secrets.start();
    await this.clock.advance(1_000);
  }

  /** Changes the Secret, and reports the change to the watch. */
  async change(data: Record<string, string> | null): Promise<void> {
    const type = data === null ? "DELETED" : "MODIFIED";
    this.data = data;
    this.version += 1;
    this.#watch?.(`${JSON.stringify({ type, object: this.#metadata() })}\n`);
    await this.clock.advance(0);
  }

  #metadata(): object {
    return { metadata: { namespace: "capa-system", name: "creds", resourceVersion: String(this.version) } };
  }

  async #answer(request: KubernetesRequest): ReturnType<KubernetesAPI["request"]> {
    this.requests.push(request);
    const { path } = request;
    if (path.includes("watch=true")) return { status: 200, headers: {}, body: this.#events(request.signal) };
    const [collection] = path.split("?", 1);
    const isList = collection === SECRETS;
    const items = this.data === null ? [] : [this.#metadata()];
    const object = isList ? { metadata: { resourceVersion: "1" }, items } : { ...this.#metadata(), data: this.data };
    const status = isList || this.data !== null ? this.status : 404;
    return { status, headers: {}, body: oneChunk(JSON.stringify(object)) };
  }

  async *#events(signal: AbortSignal): AsyncGenerator<Buffer> {
    for (;;) {
      const { promise, resolve, reject } = Promise.withResolvers<string>();
      this.#watch = resolve;
      signal.addEventListener("abort", () => reject(new Error("aborted")));
      yield Buffer.from(await promise);
    }
  }
}

async function* oneChunk(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text);
}

test("watches only the metadata of the Secrets, and reads a Secret once until it changes", async (t) => {
  const server = new SecretServer();
  await server.start();
  t.teardown(() => server.secrets.stop());
  t.same(server.reads, []);
  const [list, watch] = server.requests;
  t.match(list?.accept, /as=PartialObjectMetadataList/);
  t.match(watch?.accept, /as=PartialObjectMetadata;/);
  const [first, second] = await Promise.all([server.secrets.get(IDENTITY), server.secrets.get(IDENTITY)]);
  t.match(first, { accessKeyID: "AKIA1", secretAccessKey: "planted-AKIA1", sessionToken: null });
  t.equal(first, second);
  t.equal(await server.secrets.get(IDENTITY), first);
  t.same(server.reads, ["ok"]);
  t.notMatch(first.digest, /AKIA|planted/);
});

test("returns the new key as soon as the watch reports a change, and keeps the digest of equal content", async (t) => {
  const server = new SecretServer();
  await server.start();
  t.teardown(() => server.secrets.stop());
  const first = await server.secrets.get(IDENTITY);
  await server.change(dataOf("AKIA1"));
  t.equal(server.secrets.isCurrent(IDENTITY, first), false, "the changed Secret was not read yet");
  const same = await server.secrets.get(IDENTITY);
  t.equal(same.digest, first.digest);
  t.equal(server.secrets.isCurrent(IDENTITY, first), true);
  await server.change(dataOf("AKIA2"));
  const changed = await server.secrets.get(IDENTITY);
  t.equal(changed.accessKeyID, "AKIA2");
  t.not(changed.digest, first.digest);
  t.equal(server.secrets.isCurrent(IDENTITY, first), false);
  t.same(server.reads, ["ok", "ok", "ok"]);
});

test("rejects a missing, deleted or invalid Secret without its values", async (t) => {
  const server = new SecretServer();
  await server.start();
  t.teardown(() => server.secrets.stop());
  await server.change({ accessKeyID: "cGxhbnRlZA==" });
  const fault = /^AWSClusterStaticIdentity "s" has no access key in the Secret capa-system\/creds: its key AccessKey/;
  await t.rejects(server.secrets.get(IDENTITY), { code: "ERR_IDENTITY_SECRET", message: fault });
  await t.rejects(server.secrets.get({ ...IDENTITY, secretName: "other" }), {
    code: "ERR_IDENTITY_SECRET", message: /capa-system\/other: the Secret does not exist\./,
  });
  await server.change(null);
  await t.rejects(server.secrets.get(IDENTITY), { code: "ERR_IDENTITY_SECRET", message: /the Secret does not exist/ });
  t.same(server.reads, ["invalid"]);
});

test("rejects with a temporary error before the list, and if the API server returns an error", async (t) => {
  const server = new SecretServer();
  t.match(server.secrets.fault, "not listed yet");
  await t.rejects(server.secrets.get(IDENTITY), { code: "ERR_NOT_READY" });
  await server.start();
  t.teardown(() => server.secrets.stop());
  t.equal(server.secrets.fault, null);
  server.status = 500;
  await t.rejects(server.secrets.get(IDENTITY), { code: "ERR_CLUSTER_UNREADABLE", message: /\(status 500\)/ });
  t.same(server.reads, ["failed"]);
});
