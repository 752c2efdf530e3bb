import { once } from "node:events";
import { createServer } from "node:https";
import type { Test } from "tap";
import { makeCertificates } from "../../../certs/make.ts";
import { field, isJsonObject, type JsonObject, stringAt } from "../../../shared/formats/json.ts";
import { boundAddress } from "../../../shared/server/listen-address.ts";

/** Changes a Pod, like the webhook of another project. */
type PodChange = (pod: JsonObject) => JsonObject;

/** A mutating webhook for Pods. */
export interface PodChanger {
  /**
   * The name of the configuration. The API server calls the webhooks of all configurations in the order of their names.
   */
  readonly name: string;
  /** The labels of the Pods that the webhook changes. */
  readonly labels: Readonly<Record<string, string>>;
  readonly reinvocationPolicy: "Never" | "IfNeeded";
  readonly change: PodChange;
}

/** Serves webhooks at `host`, and returns the configurations with which the API server calls them. */
export async function servePodChangers(
  t: Test, host: string, changers: readonly PodChanger[],
): Promise<readonly object[]> {
  const { ca, cert, key } = await makeCertificates({ hosts: [host], now: new Date() });
  const server = createServer({ cert, key }, (request, response) => {
    const changer = changers.find(({ name }) => request.url?.startsWith(`/${name}?`) === true);
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => void chunks.push(chunk));
    request.on("end", () => {
      const review: unknown = JSON.parse(Buffer.concat(chunks).toString());
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(responseOf(review, changer?.change)));
    });
  });
  server.listen(0, host);
  await once(server, "listening");
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `https://${host}:${boundAddress(server).port}`;
  return changers.map((changer) => configuration(changer, { url: `${url}/${changer.name}`, caBundle: btoa(ca) }));
}

function responseOf(review: unknown, change: PodChange = (pod) => pod): object {
  const request = field(review, "request");
  const pod = field(request, "object");
  const changed = change(isJsonObject(pod) ? pod : {});
  // `add` replaces an existing field.
  const patch = ["metadata", "spec"].map((name) => ({ op: "add", path: `/${name}`, value: field(changed, name) }));
  const response = {
    uid: stringAt(request, "uid"), allowed: true, patchType: "JSONPatch", patch: btoa(JSON.stringify(patch)),
  };
  return { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response };
}

function configuration({ name, labels, reinvocationPolicy }: PodChanger, clientConfig: object): object {
  const rule = { apiGroups: [""], apiVersions: ["v1"], resources: ["pods"], operations: ["CREATE"] };
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "MutatingWebhookConfiguration",
    metadata: { name },
    webhooks: [{
      name: `${name}.example.com`, clientConfig, rules: [rule], objectSelector: { matchLabels: labels },
      admissionReviewVersions: ["v1"], sideEffects: "None", failurePolicy: "Fail", reinvocationPolicy,
    }],
  };
}
