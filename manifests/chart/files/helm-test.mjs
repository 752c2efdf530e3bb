// Sends an IAMRoleSelector with a fault to the API server in a dry run, which stores nothing. The webhook must deny it,
// or warn about it in the profile observe.
// The last applied manifest contains a field that the CRD does not define (IRS-16). No policy covers this check, so
// only the webhook can deny the selector. Runs in a Pod of `helm test`, with the credentials of the Pod's service
// account.
import { readFileSync } from "node:fs";
import { request } from "node:https";
import process from "node:process";

const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port, CREDENTIALS: folder, ROLE: arn } = process.env;
const DENIAL = 'admission webhook "iamroleselectors.validate.ack-role-resolver.io" denied the request';
const TIMEOUT_MS = 20_000;

const selector = {
  apiVersion: "services.k8s.aws/v1alpha1",
  kind: "IAMRoleSelector",
  metadata: {
    name: "ack-role-resolver-helm-test",
    annotations: { "kubectl.kubernetes.io/last-applied-configuration": '{"spec":{"unknownField":true}}' },
  },
  spec: { arn, namespaceSelector: { names: ["ack-role-resolver-helm-test"] } },
};
const options = {
  host, port, method: "POST", path: "/apis/services.k8s.aws/v1alpha1/iamroleselectors?dryRun=All",
  ca: readFileSync(`${folder}/ca.crt`),
  headers: {
    authorization: `Bearer ${readFileSync(`${folder}/token`, "utf8").trim()}`, "content-type": "application/json",
  },
  timeout: TIMEOUT_MS,
};

const call = request(options, (response) => {
  const { statusCode, headers: { warning } } = response;
  response.setEncoding("utf8").toArray().then((chunks) => finish(statusCode, chunks.join(""), warning), fail);
});
call.on("timeout", () => call.destroy(new Error(`no response within ${TIMEOUT_MS / 1000} s`)));
call.on("error", fail);
call.end(JSON.stringify(selector));

/** @param {number | undefined} status @param {string} body @param {string | undefined} warning */
function finish(status, body, warning = "") {
  if (status === 201 && warning.includes("IRS-16")) {
    process.stdout.write("The webhook warned of a faulty IAMRoleSelector.\n");
    return;
  }
  if (body.includes(DENIAL.replaceAll('"', String.raw`\"`))) {
    process.stdout.write("The webhook denied a faulty IAMRoleSelector.\n");
    return;
  }
  process.stderr.write(`The webhook did not deny a faulty IAMRoleSelector. ${reason(status)}\n${body}\n`);
  process.exitCode = 1;
}

/** @param {number | undefined} status */
function reason(status) {
  if (status === 201) {
    return "The API server admitted it: is the webhook reachable, and IRS-16 on? See the logs of the webhook.";
  }
  if (status === 404) return "The CRD of IAMRoleSelector does not exist: install an ACK controller.";
  return `The API server responded with status ${status}:`;
}

/** @param {unknown} error */
function fail(error) {
  process.stderr.write(`Cannot call the API server: ${String(error)}\n`);
  process.exitCode = 1;
}
