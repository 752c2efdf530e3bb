import { readFileSync } from "node:fs";
import type { Test } from "tap";
import { objectReference } from "../../../shared/formats/object-meta.ts";
import { field, type JsonObject, stringAt } from "../../../shared/formats/json.ts";
import { BROKEN, objectPath, wordsOf } from "../../cli/broken-resources.ts";
import { runCommand } from "../../cli/run-command.ts";
import { ACK_CRDS } from "../../fixtures/ack-crds.ts";
import { ACK_SELECTOR_CRD } from "../../fixtures/ack-selector-crd.ts";
import { CAPA_CRDS } from "../../fixtures/capa/crds.ts";
import { namespaceObject } from "../../shared/objects.ts";
import type { Cluster } from "../apiserver/cluster.ts";
import { onCluster } from "../apiserver/on-cluster.ts";
import { apply } from "../webhook/installed-webhook.ts";
import { grant, RBAC } from "../webhook/requests.ts";

const GOLDEN = readFileSync(new URL("../../golden/why.txt", import.meta.url), "utf8");
const MERGE = { headers: { "content-type": "application/merge-patch+json" } };
/** The version of the Deployment in the cluster, which the output names. */
const STORED_VERSION = /(selector-resource-version(?: is absent but should be "|=))\d+/g;
const EVENTS = "/api/v1/namespaces/team-a/events";
const READS = {
  apiGroups: [
    "", "admissionregistration.k8s.io", "apiextensions.k8s.io", "s3.services.k8s.aws",
    "infrastructure.cluster.x-k8s.io",
  ],
  resources: ["*"], verbs: ["get", "list", "watch"],
};

const COLLECTIONS = [
  "/apis/services.k8s.aws/v1alpha1/iamroleselectors",
  "/apis/infrastructure.cluster.x-k8s.io/v1beta2/awsclustercontrolleridentities",
];

// The output must be that of test/cli/why.test.ts, whose API server is a fake.
onCluster("why says on a real API server what is wrong with broken resources", async (t, cluster) => {
  const served = ACK_CRDS.filter(({ spec }) => spec.names.kind === "Bucket");
  await cluster.installCRDs([ACK_SELECTOR_CRD, ...CAPA_CRDS, ...served]);
  await cluster.request("POST", "/api/v1/namespaces", namespaceObject("ack-system"));
  await cluster.request("POST", "/api/v1/namespaces", namespaceObject("team-a"));
  await apply(cluster, grant("all-but-selectors", [READS], [{ apiGroup: RBAC, kind: "User", name: "jane" }]));
  for (const { title, objects, notes = [], errors, ...broken } of BROKEN) {
    await t.test(title, async (tt) => {
      for (const object of objects) await create(tt, cluster, object);
      for (const note of notes) await report(tt, cluster, note);
      const words = wordsOf({ title, objects, ...broken });
      const user = errors === undefined ? [] : ["--context", "jane"];
      const access = ["--cluster", "--kubeconfig", cluster.kubeconfig, ...user];
      const result = await runCommand(["why", ...words, ...access]);
      const { stdout, stderr, status } = result;
      const text = `$ why ${words.join(" ")}\n${stdout}${stderr}exit status ${status}\n`;
      tt.equal(text.replaceAll(STORED_VERSION, "$17"), expected(title));
      const { repair } = broken;
      if (repair !== undefined) {
        await runPrinted(tt, cluster, stdout, repair);
        const repaired = await runCommand(["why", ...words, ...access]);
        tt.match(repaired.stdout, ": selected\n");
        tt.equal(repaired.status, 0, repaired.stdout);
      }
      for (const object of objects) await remove(cluster, object);
      for (const path of COLLECTIONS) await cluster.request("DELETE", path);
      await cluster.request("DELETE", EVENTS);
    });
  }
});

/** Runs the commands that were printed, the first of several ways, as a user does who edits what they open. */
async function runPrinted(t: Test, cluster: Cluster, stdout: string, edit: string): Promise<void> {
  const EDITOR = edit === "" ? "true" : `sed -i -e ${edit}`;
  const [first = ""] = stdout.split(/^ {4}or /m);
  for (const [, command = ""] of first.matchAll(/^ {4,6}((?:kubectl|printf) .+)$/gm)) {
    const line = command.startsWith("printf ") ? command.replace("' | ", `' | sed -e '${edit}' | `) : command;
    const { code, stderr } = await cluster.shell(line, { EDITOR });
    t.equal(code, 0, `${line}: ${stderr}`);
  }
}

function expected(title: string): string {
  const [, text = ""] = GOLDEN.split(`# ${title}\n`);
  return text.split("\n\n# ")[0]?.replace(/\n*$/, "\n") ?? "";
}

/** Creates an object with its status. A namespace exists already, because nothing deletes one in this cluster. */
async function create(t: Test, cluster: Cluster, object: JsonObject): Promise<void> {
  const path = pathOf(object);
  const { kind, name } = objectReference(object);
  const one = `${path}/${name}`;
  const written = kind === "Namespace"
    ? await cluster.request("PUT", one, object) : await cluster.request("POST", path, object);
  t.match(written.status, /^20[01]$/, `${kind} ${name}`);
  const status = field(object, "status");
  if (status !== undefined) await cluster.request("PATCH", `${one}/status`, { status }, MERGE);
}

async function remove(cluster: Cluster, object: JsonObject): Promise<void> {
  const { kind, name } = objectReference(object);
  if (kind !== "Namespace") await cluster.request("DELETE", `${pathOf(object)}/${name}`);
}

/** The fake API server forms every plural with an s. */
function pathOf(object: JsonObject): string {
  return objectPath(object).replace(/ys$/, "ies");
}

/** Writes an Event as a sidecar does. */
async function report(t: Test, cluster: Cluster, message: string): Promise<void> {
  const { status, body } = await cluster.request("POST", EVENTS, {
    metadata: { generateName: "b1-" }, action: "AssumeRole", reason: "RoleRefused", type: "Warning", message,
    involvedObject: { apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", namespace: "team-a", name: "b1" },
    reportingComponent: "ack-role-resolver.io/sidecar", reportingInstance: "sidecar-1",
    eventTime: new Date(Date.now() - 3 * 60_000).toISOString().replace("Z", "000Z"),
  });
  t.equal(status, 201, stringAt(body, "message") ?? "the Event is written");
}
