import type { Test } from "tap";
import { field, stringAt } from "../../../shared/formats/json.ts";
import { unknownFields } from "../../../shared/core/shape.ts";
import { ACK_FIELDS } from "../../../shared/core/iamroleselector.ts";
import { selectorFixtures } from "../../fixtures/selectors/selector-fixtures.ts";
import { selectorObject } from "../../shared/objects.ts";
import type { Cluster } from "../apiserver/cluster.ts";
import { type SelectorCRD, SELECTORS } from "./installed-webhook.ts";

const STRICT = "fieldValidation=Strict";
const NULL_LABEL = "label value is null";

/** The webhook and the CRD together reject each malformed fixture, and accept the others. */
export async function validatesFixtures(t: Test, cluster: Cluster, crd: SelectorCRD): Promise<void> {
  for (const { name, object, expected } of selectorFixtures("malformed")) {
    const { status, message } = await dryRun(cluster, object);
    // Only the CRD of this project can reject a null label: with ACK's CRD, the API server drops the label.
    if (crd === "ACK" && name === NULL_LABEL) {
      t.equal(status, 201);
      continue;
    }
    t.ok(status === 400 || status === 422, `${name}: rejected, not ${status}`);
    if (message.startsWith("admission webhook")) {
      t.ok(message.includes(`${expected?.code} ${expected?.path}: `), `${name}: ${message}`);
    } else {
      // The API server validates the schema before it calls the webhook, and prints its own message.
      t.match(message, /IAMRoleSelector|strict decoding error|name or generateName is required/, `${name}: ${message}`);
    }
  }
  await acceptsFixtures(t, cluster, crd);
}

async function acceptsFixtures(t: Test, cluster: Cluster, crd: SelectorCRD): Promise<void> {
  for (const { name, object } of selectorFixtures("good", "warned")) {
    const { status, message } = await dryRun(cluster, object);
    const isKnown = crd === "own" || [...unknownFields(ACK_FIELDS, object)].length === 0;
    if (isKnown) t.equal(status, 201, `${name}: ${message}`);
    else t.match(message, "strict decoding error: unknown field");
  }
}

/** Returns the status and the message of a create request that stores nothing. */
async function dryRun(
  cluster: Cluster, object: object,
): Promise<{ readonly status: number; readonly message: string }> {
  const { status, body } = await cluster.request("POST", `${SELECTORS}?dryRun=All&${STRICT}`, object);
  return { status, message: stringAt(body, "message") ?? "" };
}

/**
 * Tests that the webhook completes a selector that ACK's CRD would reject, and that a repeated apply changes nothing.
 */
export async function completesSelector(t: Test, cluster: Cluster): Promise<void> {
  const matchLabels = { team: "a" };
  const submitted = {
    arn: "arn:aws:iam::111122223333:role/queues",
    namespaceSelector: { labelSelector: { matchLabels } },
    resourceTypeSelector: [{ group: "sqs.services.k8s.aws" }],
  };
  const stored = {
    ...submitted,
    namespaceSelector: { names: [], labelSelector: { matchLabels } },
    resourceTypeSelector: [{ group: "sqs.services.k8s.aws", version: "", kind: "" }],
  };
  const manifest = selectorObject("completed", submitted);
  t.match(await cluster.request("POST", `${SELECTORS}?${STRICT}`, manifest), { status: 201, body: { spec: stored } });
  const input = JSON.stringify(manifest);
  for (const flags of [["--server-side", "--force-conflicts"], ["--server-side"]]) {
    const { code, stdout, stderr } = await cluster.kubectl(["apply", ...flags, "-f", "-"], { input });
    t.equal(code, 0, stderr);
    t.match(stdout, "serverside-applied");
  }
  const { body } = await cluster.request("GET", `${SELECTORS}/completed`);
  t.equal(field(field(body, "metadata"), "generation"), 1, "a repeated apply changes nothing");
  await cluster.request("DELETE", `${SELECTORS}/completed`);
}
