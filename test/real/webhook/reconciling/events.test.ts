import type { Test } from "tap";
import { isJsonObject, type JsonObject, stringAt } from "../../../../shared/formats/json.ts";
import type { Cluster } from "../../apiserver/cluster.ts";
import { onCluster } from "../../apiserver/on-cluster.ts";
import { until } from "../../apiserver/until.ts";
import { bucket, buckets } from "../buckets.ts";
import { SELECTORS } from "../installed-webhook.ts";
import { create } from "../requests.ts";
import { installRights, startReplica } from "./replicas.ts";

/** The time in which an overlap that two replicas admitted must be reported. */
const OVERLAP_LIMIT_MS = 5_000;
const ROLE = "arn:aws:iam::111122223333:role/team-a";

onCluster("kubectl describe shows the problems that the leader reports as Events", async (t, cluster) => {
  // The policies would deny the malformed selector.
  await installRights(cluster, { policies: false });
  await create(cluster, "/api/v1/namespaces", { metadata: { name: "team-a" } });
  await create(cluster, SELECTORS, selector("typo", { arn: "not-an-arn" }));
  await create(cluster, buckets("team-a"), bucket("b1"));
  await startReplica(t, cluster);
  await t.test("shows that controllers ignore a malformed selector", async (tt) => (
    describes(tt, cluster, ["iamroleselector", "typo"], /MalformedSelector +\S+ +\S+ +Controllers ignore this selector/)
  ));
  await t.test("shows that a resource uses the default role", async (tt) => (
    describes(
      tt, cluster, ["bucket", "b1", "--namespace", "team-a"],
      /DefaultRole [^]*typo would select it, [^]*\. Correct IAMRoleSelector typo\./,
    )
  ));
  await t.test("shows the overlap of two selectors that were admitted at the same time", async (tt) => (
    reportsOverlap(tt, cluster)
  ));
  await t.test("shows the conflict of a resource", async (tt) => (
    describes(
      tt, cluster, ["bucket", "b1", "--namespace", "team-a"],
      /SelectorConflict [^]*silver\].*\. Restrict or delete/,
    )
  ));
  await t.test("writes one Event for each object and reason", async (tt) => {
    const events = await list(cluster);
    const keys = events.map((event) => `${stringAt(event, "regarding", "uid")} ${stringAt(event, "reason")}`);
    tt.equal(new Set(keys).size, keys.length);
    tt.ok(keys.length >= 5);
  });
});

function selector(name: string, spec: object): object {
  return {
    apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { name },
    spec: { namespaceSelector: { names: ["team-a"] }, ...spec },
  };
}

async function describes(t: Test, cluster: Cluster, object: readonly string[], expected: RegExp): Promise<void> {
  let text = "";
  const isShown = async (): Promise<boolean> => {
    text = (await cluster.kubectl(["describe", ...object])).stdout;
    return expected.test(text);
  };
  await until(isShown);
  t.match(text, expected);
}

async function list(cluster: Cluster): Promise<JsonObject[]> {
  const { body } = await cluster.request("GET", "/apis/events.k8s.io/v1/events");
  const items = isJsonObject(body) ? body["items"] : [];
  const events = Array.isArray(items) ? items.filter(isJsonObject) : [];
  return events.filter((event) => stringAt(event, "reportingController") === "ack-role-resolver.io/webhook");
}

/** The API server calls no webhook in this test, so it admits both selectors, as two replicas can. */
async function reportsOverlap(t: Test, cluster: Cluster): Promise<void> {
  await Promise.all(["gold", "silver"].map((name) => create(cluster, SELECTORS, selector(name, { arn: ROLE }))));
  const createdMs = Date.now();
  const reported = async (): Promise<string[]> => (
    (await list(cluster)).filter((event) => stringAt(event, "reason") === "SelectorsOverlap")
      .map((event) => stringAt(event, "regarding", "name") ?? "").toSorted()
  );
  const isReported = async (): Promise<boolean> => (await reported()).length === 2;
  t.ok(await until(isReported, OVERLAP_LIMIT_MS), `reported after ${Date.now() - createdMs} ms`);
  t.same(await reported(), ["gold", "silver"]);
  const { stdout } = await cluster.kubectl(["describe", "iamroleselector", "gold"]);
  t.match(stdout, /SelectorsOverlap [^]*same resources as silver/);
}
