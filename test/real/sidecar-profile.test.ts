// After an upgrade to another profile, a sidecar that runs must follow, with no more rights than its role grants.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Test } from "tap";
import { startSTSEmulator } from "../../cli/local/sts-emulator/emulator.ts";
import { iamRoleSelectorCRD } from "../../manifests/crds.ts";
import { nameOf } from "../../manifests/rbac.ts";
import { get } from "../loopback-request.ts";
import { namespaceObject, selectorObject } from "../shared/objects.ts";
import { runCommand } from "../cli/run-command.ts";
import type { Cluster } from "./apiserver/cluster.ts";
import { onCluster } from "./apiserver/on-cluster.ts";
import { until } from "./apiserver/until.ts";
import { BASE, ENVIRONMENT } from "./planted-sidecar.ts";
import { type ServerProcess, startServer } from "./server-process.ts";

const S3 = "s3.services.k8s.aws";
const NAMESPACE = "ack-role-resolver";
const CONFIG_MAPS = `/api/v1/namespaces/${NAMESPACE}/configmaps`;
const PROFILE = `${CONFIG_MAPS}/ack-role-resolver-profile`;
const TEAM_A = selectorObject("team-a", {
  arn: "arn:aws:iam::111111111111:role/team-a", namespaceSelector: { names: ["team-a"] },
});

/** A sidecar process with the flags that the webhook injects under the profile enforce. */
class Subject {
  readonly #sidecar: ServerProcess;
  readonly #token: string;

  private constructor(sidecar: ServerProcess, token: string) {
    [this.#sidecar, this.#token] = [sidecar, token];
  }

  static async start(t: Test, cluster: Cluster): Promise<Subject> {
    const sts = await startSTSEmulator({ baseCredentials: [BASE] });
    t.teardown(() => sts.close());
    const tokenFile = join(t.testdir({}), "token");
    const sidecar = await startServer("sidecar", [
      "--cluster", "--kubeconfig", cluster.kubeconfig, "--context", "jane", "--group", S3, "--sts-endpoint", sts.url,
      "--token-file", tokenFile, `--profile-namespace=${NAMESPACE}`,
    ], ENVIRONMENT);
    t.teardown(() => sidecar.stop());
    return new Subject(sidecar, await readFile(tokenFile, "utf8"));
  }

  /** What the sidecar hands out to a controller, for a namespace without a selector, and for the role of a selector. */
  async answers(): Promise<readonly string[]> {
    const paths = ["", `/namespaces/team-z?kind=Bucket.${S3}`, "/selectors/team-a"];
    return await Promise.all(paths.map(async (path) => {
      const url = `http://${this.#sidecar.address}/v1/credentials${path}`;
      const { status, body } = await get(url, { authorization: this.#token });
      if (status !== 200) return String(status);
      return body.includes(BASE.accessKeyID) ? "own role" : "other keys";
    }));
  }

  async reasons(): Promise<string> {
    return (await get(`http://${this.#sidecar.healthAddress}/readyz`)).body;
  }

  logged(message: string): boolean {
    return this.#sidecar.log.some(({ msg }) => msg === message);
  }
}

/** How long a change of the profile takes at most, in ms. */
const LIMIT_MS = 5_000;
const OPEN = ["own role", "own role", "other keys"];
const CLOSED = ["other keys", "403", "other keys"];

async function upgrade(cluster: Cluster, data: object): Promise<void> {
  const contentType = { "content-type": "application/merge-patch+json" };
  const { status } = await cluster.request("PATCH", PROFILE, { data }, { headers: contentType });
  if (status !== 200) throw new Error(`the profile was not stored: ${status}`);
}

onCluster("a sidecar follows the profile of the installation", async (t, cluster) => {
  await cluster.installCRDs([iamRoleSelectorCRD("ack")]);
  for (const name of ["team-a", "team-z", "ack-system"]) {
    await cluster.request("POST", "/api/v1/namespaces", namespaceObject(name));
  }
  await cluster.kubectl(["apply", "-f", "-"], { input: (await runCommand(["manifests", "rbac"])).stdout });
  await cluster.request("POST", "/apis/services.k8s.aws/v1alpha1/iamroleselectors", TEAM_A);
  await cluster.kubectl(["create", "clusterrolebinding", "jane", `--clusterrole=${nameOf("reader")}`, "--user=jane"]);
  const subject = await Subject.start(t, cluster);
  const becomes = async (expected: readonly string[]): Promise<boolean> => (
    await until(async () => (await subject.answers()).join() === expected.join(), LIMIT_MS)
  );
  await t.test("closes its own role without a restart, and opens it again", async (tt) => {
    tt.ok(await becomes(OPEN), "enforce");
    await upgrade(cluster, { profile: "strict" });
    tt.ok(await becomes(CLOSED), "strict");
    await upgrade(cluster, { profile: "enforce" });
    tt.ok(await becomes(OPEN), "enforce again");
  });
  await t.test("keeps the last profile after the ConfigMap is deleted, and warns", async (tt) => {
    await upgrade(cluster, { profile: "strict" });
    tt.ok(await becomes(CLOSED));
    await cluster.request("DELETE", PROFILE);
    tt.ok(await until(async () => subject.logged("profile is stale; the last one is in use"), LIMIT_MS));
    tt.same(await subject.answers(), CLOSED);
    tt.match(await subject.reasons(), "ConfigMap ack-role-resolver/ack-role-resolver-profile does not exist");
  });
});
