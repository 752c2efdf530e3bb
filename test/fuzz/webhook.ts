import * as fc from "fast-check";
import { field, type JsonObject } from "../../shared/formats/json.ts";
import { fieldExport } from "../fixtures/ack-field-export-crd.ts";
import { WEB_IDENTITY, withEKSIdentity } from "../fixtures/eks-identity.ts";
import { controllerPod } from "../fixtures/pods.ts";
import { clusterObject, controllerIdentity, roleIdentity } from "../shared/capa-objects.ts";
import { INJECTION } from "../shared/core/injected.ts";
import { reviewOf } from "../webhook/reviews.ts";
import { COMPANY, FakeSource, type WebhookUnderTest, webhookUnderTest } from "../webhook/webhook-under-test.ts";
import { type Hostile, hostile, toJSON } from "./hostile.ts";
import { type Target, target } from "./target.ts";

const ANNOTATION = "ack-role-resolver.io/";

/** Maps the end of each path to a valid object. */
const OBJECTS: Readonly<Record<string, JsonObject>> = {
  iamroleselectors: {
    apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { name: "team-a" },
    spec: { arn: "arn:aws:iam::111122223333:role/team-a", namespaceSelector: { names: ["team-a"] } },
  },
  resources: {
    apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", metadata: { name: "b", namespace: "team-a" },
    spec: { name: "b", policy: "{}" }, status: { ackResourceMetadata: { ownerAccountID: "111122223333" } },
  },
  namespaces: { apiVersion: "v1", kind: "Namespace", metadata: { name: "team-a", labels: { env: "prod" } } },
  configmaps: {
    apiVersion: "v1", kind: "ConfigMap", metadata: { name: "ack-role-account-map", namespace: "ack-system" },
    data: { 111122223333: "arn:aws:iam::111122223333:role/team-a" },
  },
  fieldexports: fieldExport("e", "team-a", { kind: "configmap", namespace: "team-b", name: "c", key: "k" }),
  identities: roleIdentity("workload", "role/hub", { selector: { matchLabels: { env: "prod" } } }),
  clusters: clusterObject("c", "role/workload", "team-a"),
  pods: withEKSIdentity(controllerPod(), WEB_IDENTITY),
};
const STORED = [...COMPANY, controllerIdentity(), roleIdentity("workload", "role/hub"), roleIdentity("hub")];
const ANNOTATIONS = [
  "allow", "replaces", "external-id", "session-name", "source-identity", "session-tags", "duration-seconds", "outcome",
  "selector", "conflicting-selectors", "identity-chain", "use-selector", "inject-container", "inject-group",
].map((name) => ANNOTATION + name);
const ACK_ANNOTATIONS = [
  "ignore-field-drift", "adoption-policy", "adoption-fields", "deletion-policy", "region", "owner-account-id",
  "team-id", "default-region", "endpoint-url",
].map((name) => `services.k8s.aws/${name}`);
const FIELDS: readonly (readonly string[])[] = [
  ...[...ANNOTATIONS, ...ACK_ANNOTATIONS].map((key) => ["metadata", "annotations", key]),
  ["metadata", "annotations", "eks.amazonaws.com/skip-containers"], ["metadata", "labels", `${ANNOTATION}inject`],
  ["metadata", "annotations"], ["metadata", "labels"], ["metadata", "labels", "env"], ["metadata", "name"],
  ["metadata", "namespace"], ["metadata", "finalizers"], ["metadata", "ownerReferences"], ["metadata"],
  ["metadata", "deletionTimestamp"], ["metadata", "managedFields"], ["metadata", "generateName"],
  ["spec"], ["spec", "arn"], ["spec", "namespaceSelector"], ["spec", "namespaceSelector", "names"],
  ["spec", "namespaceSelector", "labelSelector"], ["spec", "namespaceSelector", "labelSelector", "matchLabels"],
  ["spec", "namespaceSelector", "labelSelector", "matchExpressions"], ["spec", "resourceTypeSelector"],
  ["spec", "resourceLabelSelector"], ["spec", "resourceLabelSelector", "matchLabels"], ["spec", "unknown"],
  ["spec", "policy"], ["spec", "nameRef"], ["spec", "nameRef", "from", "name"], ["spec", "tags"],
  ["spec", "containers"], ["spec", "initContainers"], ["spec", "volumes"], ["spec", "hostNetwork"],
  ...["name", "image", "env", "envFrom", "volumeMounts"].map((name) => ["spec", "containers", "0", name]),
  ...["name", "value", "valueFrom"].map((name) => ["spec", "containers", "0", "env", "1", name]),
  ...["kind", "name"].map((name) => ["spec", "identityRef", name]), ["spec", "identityRef"], ["spec", "region"],
  ["spec", "allowedNamespaces"], ["spec", "allowedNamespaces", "list"], ["spec", "allowedNamespaces", "selector"],
  ...["namespace", "name"].map((name) => ["spec", "to", name]), ["spec", "to"],
  ["spec", "sourceIdentityRef"], ["spec", "roleARN"], ["spec", "policyARNs"],
  ["status"], ["status", "ackResourceMetadata"], ["status", "ackResourceMetadata", "arn"], ["status", "conditions"],
  ["status", "ackResourceMetadata", "region"], ["data"], ["data", "team-a"], ["apiVersion"], ["kind"],
];
const REQUEST_FIELDS: readonly (readonly string[])[] = [
  ["uid"], ["userInfo"], ["userInfo", "groups"], ["userInfo", "extra"], ["userInfo", "username"], ["name"], ["kind"],
  ["namespace"], ["operation"], ["options"], ["object"], ["oldObject"], ["subResource"], ["dryRun"], ["requestKind"],
  ["kind", "group"],
];

const MAX_RESPONSE = 100_000;
/** The maximum number of turns of the event loop until a response. */
const MAX_TURNS = 100_000;

/** Sets a field of the review to a hostile value. */
interface Change {
  readonly of: "object" | "oldObject" | "both" | "request";
  readonly field: number;
  readonly value: Hostile;
}

interface Review {
  readonly path: string;
  readonly operation: "CREATE" | "UPDATE" | "DELETE";
  readonly changes: readonly Change[];
}

const review: fc.Arbitrary<Review> = fc.record({
  path: fc.constantFrom(
    ...["iamroleselectors", "resources", "clusters", "pods"].flatMap((name) => (
      [`/mutate/${name}`, `/validate/${name}`]
    )),
    "/validate/namespaces", "/validate/configmaps", "/validate/fieldexports", "/validate/identities",
  ),
  operation: fc.constantFrom("CREATE", "UPDATE", "DELETE"),
  changes: fc.array(fc.record({
    of: fc.constantFrom("object", "object", "object", "oldObject", "both", "both", "request"),
    field: fc.nat({ max: FIELDS.length - 1 }), value: hostile,
  }), { maxLength: 3 }),
});

/** Sends reviews of hostile objects. Every response must be a verdict, or have the HTTP status 400, 413 or 415. */
export const WEBHOOK: Target = target("webhook", {
  input: review,
  expand: (input) => (
    {
      path: input.path, body: bodyOf(input),
      webhook: webhookUnderTest(new FakeSource(STORED), { injection: INJECTION }),
    }
  ),
  async run({ path, body, webhook }) {
    const { status, json, text } = await firingTimers(webhook, webhook.post(path, body));
    if ([400, 413, 415].includes(status)) return;
    const start = text.slice(0, 500);
    if (status !== 200) throw new Error(`HTTP ${status}: ${start}`);
    const response = field(json, "response");
    if (typeof field(response, "allowed") !== "boolean") throw new Error(`no verdict: ${start}`);
    const code = field(field(response, "status"), "code");
    if (typeof code === "number" && code >= 500) {
      throw new Error(`an exception denied the review: ${start} ${JSON.stringify(webhook.lines).slice(0, 2_000)}`);
    }
    // Subtracts the uid and the name from the length, because the response repeats both.
    const name = field(field(field(response, "status"), "details"), "name");
    const size = text.length - JSON.stringify([field(response, "uid"), name]).length;
    if (size > MAX_RESPONSE) throw new Error(`the response has ${size} characters: ${start}`);
  },
});

/**
 * Fires the timers of the fake clock until the response arrives. A review of a resource in an unknown namespace waits
 * for such a timer.
 */
async function firingTimers<T>({ clock }: WebhookUnderTest, response: Promise<T>): Promise<T> {
  const progress = { isDone: false };
  const settled = response.finally(() => void (progress.isDone = true));
  // The loop ignores a rejection, which the caller handles.
  settled.catch(() => undefined);
  // Also ends the loop if no response arrives; the target then fails.
  for (let turn = 0; turn < MAX_TURNS && !progress.isDone; turn++) {
    await new Promise((resolve) => setImmediate(resolve));
    clock.fireAll();
  }
  return settled;
}

/** Returns the review as JSON text. */
function bodyOf({ path, operation, changes }: Review): string {
  const object = OBJECTS[path.split("/")[2] ?? ""] ?? {};
  const request: Record<string, unknown> = {
    operation,
    object: operation === "DELETE" ? null : structuredClone(object),
    oldObject: operation === "CREATE" ? null : structuredClone(object),
  };
  const placeholders = changes.map((_, i) => `\u2063placeholder ${i}\u2063`);
  for (const [i, change] of changes.entries()) {
    for (const [root, steps] of places(change)) set(root === "" ? request : request[root], steps, placeholders[i]);
  }
  return changes.reduce(
    (text, { value }, i) => text.replaceAll(JSON.stringify(placeholders[i]), () => toJSON(value)),
    JSON.stringify(reviewOf(object, request)),
  );
}

/** Returns each place that the change sets: the name of the object, and the path of the field. */
function places({ of, field: index }: Change): readonly (readonly [root: string, path: readonly string[]])[] {
  if (of === "request") return [["", REQUEST_FIELDS[index % REQUEST_FIELDS.length] ?? []]];
  const path = FIELDS[index] ?? [];
  return of === "both" ? [["object", path], ["oldObject", path]] : [[of, path]];
}

function set(root: unknown, path: readonly string[], value: unknown): void {
  let at = root;
  for (const [i, key] of path.entries()) {
    if (typeof at !== "object" || at === null) return;
    if (i === path.length - 1) Reflect.set(at, key, value);
    else if (typeof Reflect.get(at, key) !== "object") Reflect.set(at, key, {});
    at = Reflect.get(at, key);
  }
}
