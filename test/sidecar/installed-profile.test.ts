import { type Test, test } from "tap";
import { ALL_CLOSED, NOTHING_CLOSED } from "../../shared/core/closures.ts";
import { ResolverError } from "../../shared/formats/errors.ts";
import type { JsonObject } from "../../shared/formats/json.ts";
import { InstalledProfile } from "../../sidecar/installed-profile.ts";
import { FakeCluster } from "../shared/api/fake-cluster.ts";
import { namespaceObject, put } from "../shared/objects.ts";
import { FakeClock } from "./fake-clock.ts";
import { BASE_SECRET, type Setup, SidecarUnderTest } from "./sidecar-under-test.ts";

const NAME = "ack-role-resolver-profile";
const PATH = "/api/v1/namespaces/platform/configmaps";
const STRICT = ALL_CLOSED;

function configMap(data: JsonObject, resourceVersion = "7"): JsonObject {
  const metadata = { name: NAME, namespace: "platform", resourceVersion };
  return { apiVersion: "v1", kind: "ConfigMap", metadata, data };
}

function received(data: JsonObject): Parameters<InstalledProfile["onObjects"]>[0] {
  return [{ name: NAME, namespace: "platform", resourceVersion: "7", object: configMap(data) }];
}

interface Followed {
  readonly cluster: FakeCluster;
  readonly profile: InstalledProfile;
  /** Resolves after the next change. */
  readonly changed: () => Promise<void>;
}

async function follow(t: Test, stored: readonly JsonObject[], configured = NOTHING_CLOSED): Promise<Followed> {
  const cluster = new FakeCluster();
  await cluster.start();
  cluster.objects.set(PATH, stored);
  let next = Promise.withResolvers<void>();
  const profile = new InstalledProfile({
    api: cluster.server.api, clock: cluster.clock, random: () => 0, namespace: "platform", configured,
    onChange() {
      next.resolve();
      next = Promise.withResolvers();
    },
  });
  t.teardown(async () => {
    await profile.stop();
    await cluster.server.stop();
  });
  const changed = (): Promise<void> => next.promise;
  const isListed = changed();
  profile.start();
  await isListed;
  return { cluster, profile, changed };
}

test("follows the ConfigMap of the installation while it runs, and reads no other object", async (t) => {
  const { cluster, profile, changed } = await follow(t, [configMap({ profile: "enforce" })]);
  t.same(cluster.lists, [`${PATH}?fieldSelector=metadata.name%3D${NAME}&limit=1`]);
  t.match(profile, { closures: NOTHING_CLOSED, status: { loaded: true, fault: null } });
  const isClosed = changed();
  await cluster.emit(PATH, "MODIFIED", configMap({ profile: "strict" }, "8"));
  await isClosed;
  t.same(profile.closures, STRICT);
  const isOpen = changed();
  await cluster.emit(PATH, "MODIFIED", configMap({ profile: "enforce" }, "9"));
  await isOpen;
  t.same(profile.closures, NOTHING_CLOSED, "back to what the flags say");
});

test("keeps the last profile if its ConfigMap is deleted, and says so", async (t) => {
  const { cluster, profile, changed } = await follow(t, [configMap({ profile: "strict" })]);
  const isDeleted = changed();
  await cluster.emit(PATH, "DELETED", configMap({ profile: "strict" }, "8"));
  await isDeleted;
  t.match(profile, { closures: STRICT, status: { loaded: true, fault: /^ConfigMap platform\/\S+ does not exist; / } });
  const isRestored = changed();
  await cluster.emit(PATH, "ADDED", configMap({ profile: "strict" }, "9"));
  await isRestored;
  t.match(profile, { closures: STRICT, status: { loaded: true, fault: null } });
});

test("is not loaded without the ConfigMap or the right to read it", async (t) => {
  const { profile } = await follow(t, []);
  t.match(profile.status, { loaded: false, fault: /ack-role-resolver-profile does not exist; upgrade the chart, or/ });
  profile.onFault(new Error("not allowed to list configmaps"));
  t.match(profile.status, { loaded: false, fault: "not allowed to list configmaps" });
});

test("closes what the flags close, whatever the profile of the installation is", async (t) => {
  const configured = { ...NOTHING_CLOSED, base: true };
  const { profile } = await follow(t, [configMap({ profile: "observe", base: "vend" })], configured);
  t.same(profile.closures, configured);
});

/** A sidecar that follows a profile, which the test changes. */
function following(setup: Setup = {}): { readonly sidecar: SidecarUnderTest; readonly profile: InstalledProfile } {
  const api = { request: () => Promise.reject(new Error("unused")) };
  const profile = new InstalledProfile({
    api, clock: new FakeClock(), random: () => 0, namespace: "platform", configured: NOTHING_CLOSED, onChange: () => {},
  });
  return { profile, sidecar: new SidecarUnderTest({ ...setup, profile }) };
}

test("issues no credentials of its own as soon as the profile closes them", async (t) => {
  const { sidecar, profile } = following();
  sidecar.inventory.apply([put(namespaceObject("team-z"))]);
  const unmatched = "/v1/credentials/namespaces/team-z?kind=Bucket.s3.services.k8s.aws";
  const role = "/v1/credentials/selectors/team-a";
  const codes = async (): Promise<unknown[]> => Promise.all(["/v1/credentials", unmatched, role].map(async (path) => {
    const { statusCode, body } = await sidecar.get(path);
    return body.includes(BASE_SECRET) ? "own role" : statusCode;
  }));
  t.same(await codes(), [503, 503, 503], "the profile is not known");
  t.match((await sidecar.get("/v1/credentials")).json(), {
    code: "ERR_NOT_READY", message: "The profile of the installation is not known yet. Retry in a moment.",
  });
  profile.onObjects(received({ profile: "enforce" }), []);
  t.same(await codes(), ["own role", "own role", 200]);
  profile.onObjects(received({ profile: "strict" }), []);
  t.same(await codes(), [200, 403, 200], "own keys are valid only at /sts, and no selector selects team-z");
  profile.onObjects([], [{ namespace: "platform", name: NAME }]);
  t.same(await codes(), [200, 403, 200], "the ConfigMap is deleted");
  profile.onObjects(received({ profile: "strict", unmatched: "base" }), []);
  t.same(await codes(), [200, 200, 200], "injection.args opens one way again");
});

test("does not issue its own credentials to a request that waited for them while the profile changed", async (t) => {
  const gate = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const base = async (): ReturnType<NonNullable<Setup["base"]>> => {
    asked.resolve();
    await gate.promise;
    return { accessKeyID: "ASIABASE", secretAccessKey: BASE_SECRET, sessionToken: "t", expirationMs: null };
  };
  const { sidecar, profile } = following({ base });
  profile.onObjects(received({ profile: "enforce" }), []);
  const response = sidecar.get("/v1/credentials");
  await asked.promise;
  profile.onObjects(received({ profile: "strict" }), []);
  gate.resolve();
  const { statusCode, body } = await response;
  t.equal(statusCode, 200);
  t.notMatch(body, BASE_SECRET);
});

test("names the cause if the profile cannot be read", async (t) => {
  const { sidecar, profile } = following();
  profile.onFault(new ResolverError("ERR_CLUSTER_UNREADABLE", "forbidden"));
  t.match((await sidecar.get("/v1/credentials")).json(), {
    message: "The profile of the installation is not known yet: forbidden. Retry in a moment.",
  });
});
