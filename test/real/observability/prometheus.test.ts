import { cp, readFile, writeFile } from "node:fs/promises";
import { Agent, request } from "node:https";
import type { IncomingMessage } from "node:http";
import path from "node:path";
import { type Test, test } from "tap";
import { storeCertificates } from "../../../certs/certificate-files.ts";
import { startSTSEmulator } from "../../../cli/local/sts-emulator/emulator.ts";
import { GRAPHS } from "../../../manifests/observability/dashboard.ts";
import { makePairs } from "../../certs/pairs.ts";
import { get } from "../../loopback-request.ts";
import { fixtureText, reviewOf } from "../../webhook/reviews.ts";
import { until } from "../apiserver/until.ts";
import { PROMETHEUS } from "../../programs/prometheus.ts";
import { BASE, ENVIRONMENT } from "../planted-sidecar.ts";
import { type ServerProcess, startServer } from "../server-process.ts";
import { findPrograms } from "../find-programs.ts";
import { Prometheus } from "./prometheus.ts";

const MANIFESTS = new URL("../../../manifests/", import.meta.url).pathname;

const BUCKET = JSON.stringify(reviewOf({
  apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", metadata: { name: "shop", namespace: "storefront" },
}));
/** The legends whose graphs are empty if no request fails. */
const EMPTY_WITHOUT_FAULTS: ReadonlySet<string> = new Set(["{{code}}", "rejected: {{reason}}"]);
/** The graphs of metrics that only a webhook with --namespace has. The webhook of this test reads manifests. */
const NEED_LEASE: ReadonlySet<string> = new Set(["Stale annotations", "Updates of stale annotations"]);

interface Servers {
  readonly webhook: ServerProcess;
  readonly sidecar: ServerProcess;
  /** A temporary folder. Both servers read the manifests in its subfolder `manifests`. */
  readonly folder: string;
  /** Sends reviews to the webhook and requests to the sidecar, so that both have metrics with labels. */
  readonly use: () => Promise<void>;
}

async function startServers(t: Test): Promise<Servers> {
  const [pair] = await makePairs();
  const { ca } = pair;
  const folder = t.testdir({});
  const inFolder = (name: string): string => path.join(folder, name);
  const [tls, manifests, tokenFile] = [inFolder("tls"), inFolder("manifests"), inFolder("token")];
  await storeCertificates(tls, pair);
  await cp(path.join(MANIFESTS, "examples/storefront"), manifests, { recursive: true });
  const sts = await startSTSEmulator({ baseCredentials: [BASE] });
  t.teardown(() => sts.close());
  const webhook = await startServer("webhook", ["--from", manifests, "--tls-dir", tls]);
  t.teardown(() => webhook.stop("SIGKILL"));
  const flags = ["--group", "s3.services.k8s.aws", "--sts-endpoint", sts.url, "--token-file", tokenFile];
  const sidecar = await startServer("sidecar", ["--from", manifests, ...flags], ENVIRONMENT);
  t.teardown(() => sidecar.stop("SIGKILL"));
  const authorization = await readFile(tokenFile, "utf8");
  const use = async (): Promise<void> => {
    await review(webhook, "/mutate/resources", { body: BUCKET, ca });
    await review(webhook, "/validate/iamroleselectors", { body: fixtureText("selector-create-malformed"), ca });
    await get(`http://${sidecar.address}/v1/credentials/selectors/storefront`, { authorization });
    await get(`http://${sidecar.address}/v1/credentials/selectors/unknown`, { authorization });
  };
  return { webhook, sidecar, folder, use };
}

async function review(
  { address }: ServerProcess, place: string, { body, ca }: { readonly body: string; readonly ca: string },
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const options = { method: "POST", headers: { "content-type": "application/json" }, agent: new Agent(), ca };
  request(`https://${address}${place}`, options, resolve).once("error", reject).end(body);
  await (await promise).resume().toArray();
}

test("every graph has data, no alert is pending, and a fault of the installation causes its alert", async (t) => {
  const folders = await findPrograms(t, PROMETHEUS);
  if (folders === null) return;
  const { webhook, sidecar, folder, use } = await startServers(t);
  const prometheus = await Prometheus.start(t, {
    folder, program: path.join(folders[0], "prometheus"),
    rules: path.join(MANIFESTS, "observability/rules.yaml"),
    targets: { webhook: webhook.healthAddress, sidecar: sidecar.healthAddress },
  });
  for (const { title, series } of Object.values(GRAPHS).flat().filter((graph) => !NEED_LEASE.has(graph.title))) {
    for (const [legend, expression] of Object.entries(series)) {
      const hasData = async (): Promise<boolean> => {
        await use();
        return (await prometheus.query(expression)).length > 0 || EMPTY_WITHOUT_FAULTS.has(legend);
      };
      t.ok(await until(hasData), `${title}: ${expression}`);
    }
  }
  t.same(await prometheus.alerts(), []);

  const isPending = (alert: string): Promise<boolean> => (
    until(async () => (await prometheus.alerts()).includes(`ACKRoleResolver${alert}`))
  );
  const selector = { apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { name: "a" } };
  await writeFile(path.join(folder, "manifests/malformed.json"), JSON.stringify({ ...selector, spec: {} }));
  t.ok(await isPending("MalformedSelectors"));
  await webhook.stop("SIGKILL");
  t.ok(await isPending("WebhookDown"));
});
