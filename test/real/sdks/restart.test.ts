import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { t as root, test, type Test } from "tap";
import { startSTSEmulator } from "../../../cli/local/sts-emulator/emulator.ts";
import { get } from "../../loopback-request.ts";
import { until } from "../apiserver/until.ts";
import { readEnvironment } from "../environment.ts";
import { type ServerProcess, startServer } from "../server-process.ts";
import { type Client, clientVariables, runWith } from "./client.ts";
import { BASE, MANIFESTS } from "./company.ts";
import { readReport, totals } from "./controller-report.ts";
import { findGo } from "./go.ts";

const LIMIT_MS = 120_000;
const CALLS = 10_000;
const ROLES = ["arn:aws:iam::111111111111:role/team-a", "arn:aws:iam::222222222222:role/gold"];
/** A controller that was refused asks again when it reconciles again; here the SDK does. */
const PATIENT = { AWS_MAX_ATTEMPTS: "10" };

root.setTimeout(LIMIT_MS);
for (const [signal, base] of [["SIGKILL", "identity-only"], ["SIGTERM", "vend"]] as const) {
  test(`no AssumeRole of ${CALLS} is lost or refused while the sidecar gets ${signal} and starts again, with --base ${base}`, async (t) => {
    const found = await findGo(readEnvironment());
    if (!found.found) {
      t.plan(0, found.reason);
      return;
    }
    t.setTimeout(LIMIT_MS);
    await survives(t, runWith(found.program), { signal, base });
  });
}

/** What the clients have from the first process, their own keys with it, is all that they show to the second. */
async function survives(t: Test, run: Client["run"], { signal, base }: { readonly signal: NodeJS.Signals; readonly base: string }): Promise<void> {
  const folder = t.testdir({ home: {}, state: {}, manifests: { "company.yaml": MANIFESTS } });
  const sts = await startSTSEmulator({ baseCredentials: [BASE] });
  t.teardown(() => sts.close());
  const tokenFile = join(folder, "token");
  const start = async (listen: string): Promise<ServerProcess> => {
    const from = ["--from", join(folder, "manifests"), "--group", "s3.services.k8s.aws", "--sts-endpoint", sts.url];
    const flags = ["--listen", listen, "--token-file", tokenFile, "--state-dir", join(folder, "state"), "--base", base];
    const server = await startServer("sidecar", [...from, ...flags], {
      AWS_ACCESS_KEY_ID: BASE.accessKeyID, AWS_SECRET_ACCESS_KEY: BASE.secretAccessKey, AWS_SESSION_TOKEN: BASE.sessionToken,
    });
    t.teardown(() => server.stop("SIGKILL"));
    return server;
  };
  const first = await start("127.0.0.1:0");
  const running = run(["stream", String(CALLS), "16", ...ROLES], {
    ...clientVariables({ home: join(folder, "home") }), ...PATIENT,
    AWS_CONTAINER_CREDENTIALS_FULL_URI: `http://${first.address}/v1/credentials`,
    AWS_CONTAINER_AUTHORIZATION_TOKEN: await readFile(tokenFile, "utf8"),
    AWS_ENDPOINT_URL_STS: `http://${first.address}/sts`,
  });
  t.ok(await until(async () => (await answered(first, "/sts")) > CALLS / 10, LIMIT_MS), "the clients are under way");
  await first.stop(signal);
  const second = await start(first.address);
  t.same(totals(readReport(await running)), { served: CALLS, errors: {} });
  t.ok((await answered(second, "/sts")) > CALLS / 10, "the second process served its part");
  t.equal(await answered(second, "/v1/credentials"), 0, "and nobody asked it for other keys");
  t.ok(sts.calls.filter(({ action }) => action === "AssumeRole").length <= 2 * ROLES.length, "a call of STS for each role and process");
}

/** How many requests to `path` the process has answered with 200. */
async function answered({ healthAddress }: ServerProcess, path: string): Promise<number> {
  const { body } = await get(`http://${healthAddress}/metrics`);
  const lines = body.split("\n").filter((line) => line.includes("sidecar_requests_total{") && line.includes(`path="${path}"`) && line.includes('code="200"'));
  return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}
