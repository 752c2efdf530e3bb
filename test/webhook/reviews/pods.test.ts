import jsonPatch from "fast-json-patch";
import { test } from "tap";
import { decisionSettings, type DecisionSettings } from "../../../shared/core/context.ts";
import { injectionSettings } from "../../../shared/core/sidecar-settings.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { readSettings } from "../../../shared/server/read-settings.ts";
import { checkSidecarArgs } from "../../../webhook/injection/sidecar-args.ts";
import { controllerPod } from "../../fixtures/pods.ts";
import { objectAt, patchOf, reviewOf } from "../reviews.ts";
import { FakeSource, webhookUnderTest } from "../webhook-under-test.ts";

const FLAGS = { cluster: true, tlsDir: "unused", sidecarImage: "registry.example.com/resolver:1" };
const DECISIONS: Partial<DecisionSettings> = decisionSettings(readSettings("webhook", FLAGS, {}));
const [MUTATE, VALIDATE] = ["/mutate/pods", "/validate/pods"] as const;

const webhook = webhookUnderTest(new FakeSource(), DECISIONS);

async function post(path: string, pod: JsonObject, request: JsonObject = {}): Promise<JsonObject> {
  const { status, json } = await webhook.post(path, reviewOf(pod, request));
  if (status !== 200) throw new Error(`status ${status}`);
  return objectAt(json, "response");
}

async function injected(pod: JsonObject): Promise<JsonObject> {
  const { json } = await webhook.post(MUTATE, reviewOf(pod));
  return jsonPatch.applyPatch(structuredClone(pod), patchOf(json) ?? [], true).newDocument;
}

test("patches a Pod that requests a sidecar, once, and then allows the Pod", async (t) => {
  const pod = await injected(controllerPod());
  t.match(objectAt(pod, "spec")["initContainers"], [{ name: "ack-role-resolver", image: FLAGS.sidecarImage }]);
  t.same(await post(MUTATE, pod), { uid: "u-1", allowed: true }, "the second review has no patch");
  t.same(await post(VALIDATE, pod), { uid: "u-1", allowed: true });
});

test("reviews Pods before the inventory is loaded, because no role depends on a Pod", async (t) => {
  const source = new FakeSource();
  source.unload();
  const unloaded = webhookUnderTest(source, DECISIONS);
  t.not(patchOf((await unloaded.post(MUTATE, reviewOf(controllerPod()))).json), null);
});

test("denies a Pod without a sidecar with every fault and its fix", async (t) => {
  const pod = controllerPod({ spec: { hostNetwork: true } });
  t.match(await post(VALIDATE, pod), {
    allowed: false,
    status: {
      code: 422, reason: "Invalid", details: { kind: "Pod", causes: [{ field: "spec.initContainers" }, {
        field: "spec.hostNetwork", message: /^POD-08 .*Set hostNetwork to false/,
      }] },
    },
  });
});

test("skips Pods that reject the sidecar, mirror Pods, updates, subresources and other kinds", async (t) => {
  const metadata = { labels: { "ack-role-resolver.io/inject": "false" } };
  const mirror = { annotations: { "kubernetes.io/config.mirror": "hash" } };
  const allowed = { uid: "u-1", allowed: true };
  for (const path of [MUTATE, VALIDATE]) {
    t.same(await post(path, controllerPod({ metadata })), allowed);
    t.same(await post(path, controllerPod({ metadata: mirror })), allowed);
    t.same(await post(path, controllerPod(), { operation: "UPDATE", oldObject: controllerPod() }), allowed);
    const deletion = { operation: "DELETE", object: null, oldObject: controllerPod() };
    t.same(await post(path, controllerPod(), deletion), allowed);
    t.same(await post(path, controllerPod(), { subResource: "ephemeralcontainers" }), allowed);
    t.same(await post(path, { ...controllerPod(), kind: "PodTemplate" }), allowed);
  }
});

test("does not patch a Pod that exceeds a limit, and denies it", async (t) => {
  const env = Array.from({ length: 7_000 }, (_, i) => ({ name: `V${i}`, value: "" }));
  const large = controllerPod({ controller: { env } });
  t.same(await post(MUTATE, large), { uid: "u-1", allowed: true });
  t.match(await post(VALIDATE, large), { allowed: false, status: { message: /^POD-10 / } });
  const huge = controllerPod({ controller: { env: Array.from({ length: 20_000 }, () => ({ name: "V", value: "" })) } });
  t.same(await post(MUTATE, huge), { uid: "u-1", allowed: true });
  t.match(await post(VALIDATE, huge), { allowed: false, status: { message: /^POD-10 .*more than 50000 values/ } });
});

test("changes the severity of a check of Pods with --check", async (t) => {
  const flags = { ...FLAGS, check: ["POD-08=warn"] };
  const lenient = webhookUnderTest(new FakeSource(), decisionSettings(readSettings("webhook", flags, {})));
  const pod = await injected(controllerPod({ spec: { hostNetwork: true } }));
  const { json } = await lenient.post(VALIDATE, reviewOf(pod));
  t.match(objectAt(json, "response"), { allowed: true, warnings: [/^POD-08 spec\.hostNetwork: /] });
});

test("accepts --sidecar-args that the sidecar accepts", async (t) => {
  for (const args of [
    [], ["--base=identity-only", "--unmatched=deny"], ["--kind=Bucket.s3.services.k8s.aws", "--kind=Topic"],
    ["--region=eu-west-1"], ["--default-external-id=org-1", "--default-session-tags=team={namespace},a=b"], ["--team-level-carm", "--mode=carm"], ["--sts-endpoint=https://sts.example.com/?a=b"],
  ]) t.doesNotThrow(() => checkSidecarArgs(args), args.join(" "));
});

test("rejects defaults of --sidecar-args that sidecars do not support in the mode of the webhook", async (t) => {
  const { args } = injectionSettings(readSettings("webhook", {
    ...FLAGS, mode: "carm", sidecarArgs: ["--default-external-id=org-1"],
  }, {}));
  t.throws(() => checkSidecarArgs(args), { message: /^--sidecar-args: --default-external-id, .* --mode carm/ });
});

test("rejects --sidecar-args that the webhook sets, or that the sidecar rejects, with every fault", async (t) => {
  t.throws(() => checkSidecarArgs([
    "--group=s3.services.k8s.aws", "--tls-dir=x", "--base", "--team-level-carm=true", "--base=none", "--token-file=x",
  ]), {
    code: "ERR_CONFIG_INVALID",
    message: [
      '--sidecar-args "--group=s3.services.k8s.aws": the webhook sets this flag',
      '--sidecar-args "--tls-dir=x": the sidecar has no such flag',
      '--sidecar-args "--base": expected a value: --base=VALUE',
      '--sidecar-args "--team-level-carm=true": the flag has no value',
      '--sidecar-args "--token-file=x": the webhook sets this flag',
      "--sidecar-args: --base: expected one of vend, identity-only",
    ].join("\n"),
  });
});
