import { copyFile, writeFile } from "node:fs/promises";
import path from "node:path";
import type { Test } from "tap";
import { ACK_SELECTOR_CRD } from "../../fixtures/ack-selector-crd.ts";
import type { Cluster } from "../apiserver/cluster.ts";
import { onCluster } from "../apiserver/on-cluster.ts";
import { type ProgramResult, runProgram } from "../../programs/run-program.ts";
import { until } from "../apiserver/until.ts";
import { installWebhook, SELECTORS } from "../webhook/installed-webhook.ts";
import { CHART } from "./helm.ts";

const SCRIPT = path.join(CHART, "files/helm-test.mjs");
const ROLE = "arn:aws:iam::111122223333:role/ack-role-resolver-helm-test";

onCluster("the program of helm test passes only if the API server calls the webhook", async (t, cluster) => {
  const run = await scriptRunner(t, cluster);
  t.match(await run(), { code: 1, stdout: "", stderr: /The CRD of IAMRoleSelector does not exist: install an ACK/ });

  await cluster.installCRDs([ACK_SELECTOR_CRD]);
  t.match(await run(), { code: 1, stdout: "", stderr: /admitted it: is the webhook reachable, and IRS-16 on\?/ });

  const webhook = await installWebhook(t, cluster);
  t.same(await run(), { code: 0, stdout: "The webhook denied a faulty IAMRoleSelector.\n", stderr: "" });
  t.match((await cluster.request("GET", SELECTORS)).body, { items: [] }, "the program stores no selector");

  await webhook.stop("SIGKILL");
  const failed = async (): Promise<boolean> => (await run()).stderr.includes("responded with status 500:");
  t.ok(await until(failed), "the webhook is down");
});

/** Returns a function that runs the program with the credentials of the user admin. */
async function scriptRunner(t: Test, cluster: Cluster): Promise<() => Promise<ProgramResult>> {
  const folder = t.testdir({});
  await copyFile(cluster.caFile, path.join(folder, "ca.crt"));
  await writeFile(path.join(folder, "token"), cluster.tokens.admin);
  const { hostname, port } = new URL(cluster.url);
  const env = { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port, CREDENTIALS: folder, ROLE };
  return async () => await runProgram(process.execPath, [SCRIPT], { cwd: folder, env });
}
