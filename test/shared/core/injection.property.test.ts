import { isDeepStrictEqual } from "node:util";
import {
  array, assert, boolean, constant, constantFrom, option, property, record, uniqueArray,
} from "fast-check";
import { test } from "tap";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { POD_IDENTITY, WEB_IDENTITY, withEKSIdentity } from "../../fixtures/eks-identity.ts";
import { controllerPod, IMAGE } from "../../fixtures/pods.ts";
import { injected, sorted } from "./injected.ts";

const NAMES = [
  "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_STS_REGIONAL_ENDPOINTS", "AWS_ENDPOINT_URL_STS", "AWS_EC2_METADATA_DISABLED",
  "OTHER",
];
const variable = record({ name: constantFrom(...NAMES), value: constantFrom("eu-west-1", "x", "a b") });
/** A variable has one entry, as the identity webhook of EKS and `kubectl apply` expect. */
const env = uniqueArray(variable, { selector: ({ name }) => name, maxLength: 5 });
const mount = record({ name: constantFrom("data", "tmp"), mountPath: constantFrom("/data", "/tmp/a") });
const volumeMounts = uniqueArray(mount, { selector: ({ mountPath }) => mountPath, maxLength: 2 });
const lists = record({ env, volumeMounts }, { requiredKeys: [] });
const others = array(record({ name: constant("init"), image: constant("init:1") }), { maxLength: 1 });
const annotations = constantFrom(
  undefined, {}, ...["other", "controller,a"].map((names) => ({ "eks.amazonaws.com/skip-containers": names })),
);

const pods = record({
  annotations, controller: lists, initContainers: option(others, { nil: undefined }),
  hasVolumes: boolean(), hasNames: boolean(),
}).map(({ annotations: own, controller, initContainers, hasVolumes }): JsonObject => controllerPod({
  metadata: { labels: { "ack-role-resolver.io/inject": "true" }, ...(own && { annotations: own }) },
  controller: { image: IMAGE, env: undefined, ...controller },
  spec: {
    ...(initContainers && { initContainers }), ...(hasVolumes && { volumes: [{ name: "data" }, { name: "tmp" }] }),
  },
}));

const identities = constantFrom(WEB_IDENTITY, POD_IDENTITY);

test("an injected Pod does not change again", async () => {
  assert(property(pods, (pod) => {
    const once = injected(pod);
    return JSON.stringify(injected(once)) === JSON.stringify(once);
  }), { numRuns: 300 });
});

test("the result does not depend on the order of the identity webhook", async () => {
  assert(property(pods, identities, (pod, identity) => {
    // The API server calls both webhooks again, in the same order, if one has changed the Pod after the other.
    const settle = (one: JsonObject): JsonObject => injected(withEKSIdentity(injected(one), identity));
    const [first, second] = [settle(pod), settle(withEKSIdentity(pod, identity))];
    return isDeepStrictEqual(JSON.parse(JSON.stringify(sorted(first))), JSON.parse(JSON.stringify(sorted(second))));
  }), { numRuns: 300 });
});
