import { runChecks } from "../../../shared/judges.ts";
import { cp, readFile } from "node:fs/promises";
import path from "node:path";
import { test } from "tap";
import { parse } from "yaml";
import { field, isJsonObject, type JsonObject } from "../../../shared/formats/json.ts";
import { codeBlocks } from "../../documented-commands.ts";
import { controllerPod } from "../../fixtures/pods.ts";
import { SETTINGS_BY_DEFAULT } from "../../shared/objects.ts";
import { injected, INJECTION, sorted } from "../../shared/core/injected.ts";
import { objectAt } from "../../webhook/reviews.ts";
import { runProgram } from "../../programs/run-program.ts";
import { RENDERERS } from "../../programs/renderers.ts";
import { findPrograms } from "../find-programs.ts";

const ROOT = path.join(import.meta.dirname, "../../..");
const PAGE = path.join(ROOT, "docs/ack-charts.md");
const PATCH = path.join(ROOT, "manifests/kustomize");
const IMAGE = "registry.example.com/ack-role-resolver:0.1.0";
const LABEL = { "ack-role-resolver.io/inject": "true" };

/** The Deployment that a chart of ACK renders. */
function deployment({ spec }: JsonObject): object {
  const metadata = { name: "ack-s3-controller-s3-chart" };
  const template = { metadata: { labels: { "k8s-app": "s3-chart" } }, spec };
  return { apiVersion: "apps/v1", kind: "Deployment", metadata, spec: { template } };
}

test("the Kustomize patch for ACK's charts yields the same Pod as the injection", async (t) => {
  const folders = await findPrograms(t, RENDERERS);
  if (folders === null) return;
  const pod = controllerPod();
  const cwd = t.testdir({ "controller.yaml": JSON.stringify(deployment(pod)) });
  await cp(PATCH, cwd, { recursive: true });
  const { code, stdout, stderr } = await runProgram(path.join(folders[0], "kustomize"), ["build", "."], { cwd });
  t.same([code, stderr], [0, ""]);
  const built: unknown = parse(stdout);
  const template = objectAt(built, "spec", "template");
  t.same(objectAt(template, "metadata")["labels"], { "k8s-app": "s3-chart" }, "the labels of the chart remain");

  const expected = injected(pod, { ...INJECTION, image: IMAGE, args: ["--profile-namespace=ack-role-resolver"] });
  const patched = { ...pod, metadata: { annotations: objectAt(template, "metadata", "annotations") } };
  t.same(sorted({ ...patched, spec: template["spec"] })["spec"], sorted(expected)["spec"]);
  t.same(patched.metadata.annotations, objectAt(expected, "metadata", "annotations"));

  const object = { ...patched, metadata: { ...patched.metadata, labels: LABEL }, spec: template["spec"] };
  const input = { object, old: null, requester: null, origin: "cluster" } as const;
  t.same(runChecks(input, SETTINGS_BY_DEFAULT).findings, [], "the webhook accepts the Pod with the label");
});

test("the values for ACK's charts contain the label of the injection", async (t) => {
  const [[, block] = ["", ""]] = codeBlocks(await readFile(PAGE, "utf8"), "yaml");
  const values: unknown = parse(block);
  t.match(values, { deployment: { labels: LABEL }, enableCARM: false, featureGates: { IAMRoleSelector: true } });
  t.ok(isJsonObject(field(values, "serviceAccount")));
});
