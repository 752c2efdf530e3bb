import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import type { Test } from "tap";
import { NODE_IMAGE } from "../../programs/node-image.ts";
import { until } from "../../real/apiserver/until.ts";
import { PodCluster } from "../cluster.ts";
import { withNode } from "../on-node.ts";
import type { NodePrograms } from "../programs.ts";
import { type NodeOptions, randomNodeID, startNode } from "./node.ts";
import { findTraces } from "./traces.ts";

const NOTHING = { processes: [], mounts: [], interfaces: [], cgroups: [], files: [] };
/** Bytes. */
const ALLOCATED = 50_000_000;

withNode("a node with Pods on this machine", async (t, found) => {
  await t.test("runs a Pod, and leaves nothing on this machine after stop()", async (tt) => runsPod(tt, found));
  await t.test("leaves nothing if a component does not start", async (tt) => failsToStart(tt, found));
  await t.test("leaves nothing if the test process is killed", async (tt) => isKilled(tt, found));
});

async function runsPod(t: Test, found: NodeOptions): Promise<void> {
  const id = randomNodeID();
  const parameters = await kernelParameters();
  const node = await startNode({ ...found, id });
  t.teardown(() => node.stop());
  const cluster = new PodCluster(node);
  await cluster.loadArchive(found.programs.nodeImage);
  await runPod(t, cluster);
  const traces = await findTraces(id);
  t.ok(Object.values(traces).every((list: readonly string[]) => list.length > 0), "each kind of trace is found");
  t.ok(traces.processes.some((line) => line.includes("pause")), "the processes in Pods are found");
  await node.stop();
  t.same(await findTraces(id), NOTHING);
  t.same(await kernelParameters(), parameters, "the kubelet did not change the machine");
}

async function runPod(t: Test, cluster: PodCluster): Promise<void> {
  const script = `const bytes = Buffer.alloc(${ALLOCATED}, 1);
    process.once("SIGTERM", () => process.exit());
    setInterval(() => bytes.length, 60_000);
    console.log("started");`;
  const container = { name: "main", image: NODE_IMAGE, imagePullPolicy: "Never", args: ["-e", script] };
  const metadata = { name: "one", labels: { app: "one" } };
  await cluster.apply([{ apiVersion: "v1", kind: "Pod", metadata, spec: { containers: [container] } }]);
  await cluster.kubectl(["wait", "--for=condition=Ready", "pod/one", "--timeout=15s"]);
  const isLogged = async (): Promise<boolean> => (await cluster.logs("default", "one", "main")) === "started\n";
  t.ok(await until(isLogged), "returns the log of the container");
  const printed = await cluster.exec("default", "one", "main", ["/usr/local/bin/node", "-p", "process.pid > 1"]);
  t.same([printed.code, printed.stdout], [0, "true\n"], "runs a program in the container");
  const [pod] = await cluster.pods("default", "app=one");
  if (pod === undefined) throw new Error("the Pod is not listed");
  // The kernel updates the statistics of a cgroup with a delay.
  const isMeasured = async (): Promise<boolean> => {
    const { anonymous, workingSet } = await cluster.podMemory(pod);
    return anonymous > ALLOCATED && workingSet > ALLOCATED;
  };
  t.ok(await until(isMeasured), "measures memory");
  const created = (await cluster.auditEvents()).find(({ verb, objectRef }) => (
    verb === "create" && objectRef?.resource === "pods" && objectRef.subresource === "binding"
  ));
  t.equal(created?.user.username, "system:kube-scheduler", "the audit log contains the requests of all components");
}

async function failsToStart(t: Test, found: NodeOptions): Promise<void> {
  const cases: readonly (readonly [string, Partial<NodePrograms>, Partial<NodeOptions>])[] = [
    ["kubelet", { kubelet: "/bin/false" }, {}],
    ["kube-apiserver", {}, { apiserverFlags: ["--no-such-flag"] }],
    ["pause image", { pause: "/nonexistent" }, {}],
  ];
  for (const [name, programs, options] of cases) {
    const id = randomNodeID();
    await t.rejects(startNode({ ...found, ...options, id, programs: { ...found.programs, ...programs } }), name);
    t.same(await findTraces(id), NOTHING, name);
  }
}

async function isKilled(t: Test, found: NodeOptions): Promise<void> {
  const id = randomNodeID();
  const script = `
    import { startNode } from ${JSON.stringify(new URL("node.ts", import.meta.url).pathname)};
    await startNode(${JSON.stringify({ ...found, id })});
    console.log("ready");
  `;
  const args = ["--input-type=module-typescript", "-e", script];
  const parent = spawn(process.execPath, args, { cwd: t.testdir(), stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(parent, "exit");
  const started = once(createInterface(parent.stdout), "line");
  await Promise.race([started, ended]);
  t.ok((await findTraces(id)).processes.length > 5, "the components are running");
  parent.kill("SIGKILL");
  await ended;
  const isGone = async (): Promise<boolean> => Object.values(await findTraces(id)).flat().length === 0;
  await until(isGone);
  t.same(await findTraces(id), NOTHING);
}

async function kernelParameters(): Promise<readonly string[]> {
  const names = ["vm/overcommit_memory", "kernel/panic", "kernel/panic_on_oops", "net/ipv4/ip_forward"];
  return Promise.all(names.map((name) => readFile(`/proc/sys/${name}`, "utf8")));
}
