import type { Test } from "tap";
import { nameOf } from "../../../manifests/rbac.ts";
import { runCommand } from "../../cli/run-command.ts";
import { ACK_CRDS } from "../../fixtures/ack-crds.ts";
import { ACK_SELECTOR_CRD } from "../../fixtures/ack-selector-crd.ts";
import { ACK_RUNTIME, ackProgramsIn } from "../../programs/ack-runtime.ts";
import { enduranceMinutes } from "../../programs/environment.ts";
import { GO_CLIENT, goClientIn } from "../../programs/go-client.ts";
import { sharedLibraries } from "../../programs/node-image.ts";
import { type InstalledWheels, MOTO, wheelsIn } from "../../programs/wheels.ts";
import { until } from "../../real/apiserver/until.ts";
import { objectsIn } from "../../real/chart/helm.ts";
import { findPrograms } from "../../real/find-programs.ts";
import { readReport, totals } from "../../real/sdks/controller-report.ts";
import { formatMemory, type PodCluster } from "../cluster.ts";
import { startCluster, withNode } from "../on-node.ts";
import { projectArchive } from "../project-image.ts";
import { deniedRequests, rightsIn, unusedRights } from "../chart/rights.ts";
import { selector } from "../webhook/selector.ts";
import { REJECTED_ROLE, startAWS } from "./aws.ts";
import { bucket, untilCondition, untilCreated } from "./buckets.ts";
import { CONTROLLER, CONTROLLER_IMAGE, controllerObjects, NAMESPACE, POD_LABELS } from "./controller-pod.ts";

const TEAM_A = "arn:aws:iam::111111111111:role/team-a";
const TEAM_B = "arn:aws:iam::222222222222:role/team-b";
const CLIENT = "/client";
const SIDECAR = "ack-role-resolver";
/** The kernel cannot set a limit below the memory in use. */
const SPARE_BYTES = 2 ** 20;
/** The number of AssumeRole calls of the load, and how many run at once. */
const LOAD = ["2000", "4"] as const;

withNode("the Pod of manifests/sidecar/deployment.yaml with a controller", async (t, found) => {
  const folders = await findPrograms(t, MOTO, GO_CLIENT, ACK_RUNTIME);
  if (folders === null) return;
  const [moto, client] = [await wheelsIn(folders[0]), goClientIn(folders[1])];
  const archive = projectArchive(t, found.programs);
  const cluster = await startCluster(t, found);
  const libraries = (await sharedLibraries(client)).map((file) => [file, file] as const);
  const programs = { "/controller": ackProgramsIn(folders[2]).controller, [CLIENT]: client };
  const files = { ...programs, ...Object.fromEntries(libraries) };
  await cluster.loadImage({ name: CONTROLLER_IMAGE, files, entrypoint: ["/controller"] });
  await cluster.loadArchive(await archive);
  await install(t, cluster, moto);
  await t.test("creates a bucket with the role of its selector, or its own", async (tt) => isCreated(tt, cluster));
  await t.test("is not granted a role of which no selector exists", async (tt) => isNotGranted(tt, cluster));
  await t.test("refuses no AssumeRole call if the kernel kills the sidecar for lack of memory", async (tt) => (
    survivesOOM(tt, cluster)
  ));
  await t.test("uses less memory than its limit under load", async (tt) => isLoaded(tt, cluster));
  await t.test("writes an Event about a role that STS rejects", async (tt) => reportsRole(tt, cluster));
  await t.test("uses each right of the roles for sidecars, and is denied nothing", async (tt) => (
    usesRights(tt, cluster)
  ));
});

async function install(t: Test, cluster: PodCluster, wheels: InstalledWheels): Promise<void> {
  const aws = await startAWS(t, wheels, cluster.hostAddress);
  await cluster.api.installCRDs([ACK_SELECTOR_CRD, ...ACK_CRDS]);
  for (const name of [NAMESPACE, "team-a", "team-b"]) await cluster.kubectl(["create", "namespace", name]);
  await cluster.kubectl(["apply", "-f", "-"], (await runCommand(["manifests", "rbac"])).stdout);
  await cluster.apply([selector("team-a", TEAM_A)]);
  await cluster.apply([...(await controllerObjects(aws)), EVENTS_BINDING]);
  await cluster.untilRolledOut(NAMESPACE, CONTROLLER);
}

/** docs/sidecar.md describes this binding. */
const EVENTS_BINDING = {
  apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRoleBinding", metadata: { name: `${CONTROLLER}-events` },
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: nameOf("events") },
  subjects: [{ kind: "ServiceAccount", name: CONTROLLER, namespace: NAMESPACE }],
};

async function isCreated(t: Test, cluster: PodCluster): Promise<void> {
  await cluster.apply([bucket("team-a", "bucket-a"), bucket("default", "bucket")]);
  t.equal(await untilCreated(cluster, "team-a", "bucket-a"), "111111111111/team-a");
  t.equal(
    await untilCreated(cluster, "default", "bucket"), "999999999999/ack-s3-controller",
    "the identity of the controller is the web identity of the sidecar",
  );
}

async function isNotGranted(t: Test, cluster: PodCluster): Promise<void> {
  const [pod] = await cluster.pods(NAMESPACE, POD_LABELS);
  const call = [CLIENT, "stream", "1", "1", TEAM_B];
  const { roles } = readReport(await cluster.exec(NAMESPACE, pod?.name ?? "", "controller", call));
  t.match(Object.keys(roles[TEAM_B]?.errors ?? {}), [/AccessDenied/u]);
  await cluster.apply([selector("team-b", TEAM_B), bucket("team-b", "bucket-b")]);
  t.equal(
    await untilCreated(cluster, "team-b", "bucket-b"), "222222222222/team-b",
    "the role is granted when its selector exists",
  );
}

/** Limits the memory of the sidecar to what it uses when it is idle, and then loads it. */
async function survivesOOM(t: Test, cluster: PodCluster): Promise<void> {
  const [before] = await cluster.pods(NAMESPACE, POD_LABELS);
  if (before === undefined) throw new Error("the Pod does not exist");
  const { workingSet } = await cluster.containerMemory(before, SIDECAR);
  await cluster.limitMemory(before, SIDECAR, workingSet + SPARE_BYTES);
  const calls = enduranceMinutes() === null ? 2_000 : 10_000;
  const stream = [CLIENT, "stream", String(calls), "4", TEAM_A, TEAM_B];
  t.same(totals(readReport(await cluster.exec(NAMESPACE, before.name, "controller", stream))), {
    served: calls, errors: {},
  });
  const reason = "jsonpath={.items[0].status.initContainerStatuses[0].lastState.terminated.reason}";
  t.equal(await cluster.kubectl(["get", "pods", "-n", NAMESPACE, "-l", POD_LABELS, "-o", reason]), "OOMKilled");
  const [after] = await cluster.pods(NAMESPACE, POD_LABELS);
  t.same([after?.uid, after?.restarts], [before.uid, 1], "only the container of the sidecar restarts");
}

async function isLoaded(t: Test, cluster: PodCluster): Promise<void> {
  const [pod] = await cluster.pods(NAMESPACE, POD_LABELS);
  if (pod === undefined) throw new Error("the Pod does not exist");
  const memory = async (): Promise<string> => {
    const one = await cluster.containerMemory(pod, SIDECAR);
    t.ok(one.workingSet < 192 * 2 ** 20, "the working set is less than the limit in manifests/sidecar/deployment.yaml");
    return formatMemory(one);
  };
  t.comment(`idle: ${await memory()}`);
  const stream = [CLIENT, "stream", ...LOAD, TEAM_A, TEAM_B];
  const startMs = performance.now();
  const report = readReport(await cluster.exec(NAMESPACE, pod.name, "controller", stream));
  const durationMs = Math.round(performance.now() - startMs);
  t.same(totals(report), { served: Number(LOAD[0]), errors: {} });
  t.comment(`after ${LOAD[0]} AssumeRole calls in ${durationMs} ms: ${await memory()}`);
}

async function reportsRole(t: Test, cluster: PodCluster): Promise<void> {
  await cluster.kubectl(["create", "namespace", "team-c"]);
  await cluster.apply([selector("team-c", `arn:aws:iam::111111111111:role/${REJECTED_ROLE}`)]);
  await cluster.apply([bucket("team-c", "bucket-c")]);
  await untilCondition(cluster, "team-c", "bucket-c", "ACK.Recoverable");
  const list = ["get", "events.events.k8s.io", "-A", "--field-selector", "reason=RoleRefused", "-o", "name"];
  const isReported = async (): Promise<boolean> => (await cluster.kubectl(list)) !== "";
  t.ok(await until(isReported), "the Event exists");
}

const USER = `system:serviceaccount:${NAMESPACE}:${CONTROLLER}`;

/** Only the webhook uses the verb `get`. A sidecar patches an Event 30 minutes after its creation. */
async function usesRights(t: Test, cluster: PodCluster): Promise<void> {
  const ofSidecars = rightsIn(objectsIn((await runCommand(["manifests", "rbac"])).stdout))
    .filter(({ role, verb }) => ["reader", "events"].map(nameOf).includes(role) && !["get", "patch"].includes(verb));
  const rights = ofSidecars.map((right) => ({ ...right, users: [USER] }));
  const events = await cluster.auditEvents();
  t.equal(rights.length, 9);
  t.same(unusedRights(rights, events), []);
  t.same(deniedRequests(USER, events), []);
}
