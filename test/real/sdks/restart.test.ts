import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Test, test } from "tap";
import { startSTSEmulator } from "../../../cli/local/sts-emulator/emulator.ts";
import { get } from "../../loopback-request.ts";
import { until } from "../apiserver/until.ts";
import { GO_CLIENT, goClientIn } from "../../programs/go-client.ts";
import { type ServerProcess, startServer } from "../server-process.ts";
import { findPrograms } from "../find-programs.ts";
import { type Client, clientVariables, runWith } from "./client.ts";
import { readReport, totals } from "./controller-report.ts";
import { BASE, MANIFESTS } from "./testbed.ts";

const CALLS = 10_000;
const ROLES = ["arn:aws:iam::111111111111:role/team-a", "arn:aws:iam::222222222222:role/gold"];
/**
 * A rejected controller retries at its next reconciliation. In this test, the SDK retries instead of the controller.
 */
const RETRIES = { AWS_MAX_ATTEMPTS: "10" };

interface Restart {
  readonly signal: NodeJS.Signals;
  readonly base: string;
}

for (const [signal, base] of [["SIGKILL", "identity-only"], ["SIGTERM", "vend"]] as const) {
  test(`all ${CALLS} AssumeRole calls succeed if the sidecar restarts after ${signal}, --base ${base}`, async (t) => {
    const folders = await findPrograms(t, GO_CLIENT);
    if (folders === null) return;
    await testRestart(t, runWith(goClientIn(folders[0])), { signal, base });
  });
}

/** After the restart, the clients still sign with the base credentials that the first process issued. */
async function testRestart(t: Test, run: Client["run"], { signal, base }: Restart): Promise<void> {
  const folder = t.testdir({ home: {}, state: {}, manifests: { "company.yaml": MANIFESTS } });
  const sts = await startSTSEmulator({ baseCredentials: [BASE] });
  t.teardown(() => sts.close());
  const tokenFile = join(folder, "token");
  const start = async (listen: string): Promise<ServerProcess> => {
    const from = ["--from", join(folder, "manifests"), "--group", "s3.services.k8s.aws", "--sts-endpoint", sts.url];
    const flags = ["--listen", listen, "--token-file", tokenFile, "--state-dir", join(folder, "state"), "--base", base];
    const server = await startServer("sidecar", [...from, ...flags], {
      AWS_ACCESS_KEY_ID: BASE.accessKeyID, AWS_SECRET_ACCESS_KEY: BASE.secretAccessKey,
      AWS_SESSION_TOKEN: BASE.sessionToken,
    });
    t.teardown(() => server.stop("SIGKILL"));
    return server;
  };
  const first = await start("127.0.0.1:0");
  const running = run(["stream", String(CALLS), "16", ...ROLES], {
    ...clientVariables({ home: join(folder, "home") }), ...RETRIES,
    AWS_CONTAINER_CREDENTIALS_FULL_URI: `http://${first.address}/v1/credentials`,
    AWS_CONTAINER_AUTHORIZATION_TOKEN: await readFile(tokenFile, "utf8"),
    AWS_ENDPOINT_URL_STS: `http://${first.address}/sts`,
  });
  t.ok(await until(async () => (await okResponses(first, "/sts")) > CALLS / 10), "the clients are running");
  await first.stop(signal);
  const second = await start(first.address);
  t.same(totals(readReport(await running)), { served: CALLS, errors: {} });
  t.ok((await okResponses(second, "/sts")) > CALLS / 10, "the second process served some of the calls");
  t.equal(await okResponses(second, "/v1/credentials"), 0, "no client requested other keys from the second process");
  for (const server of [first, second]) t.same(auditLines(server), AUDITED, "no line of a killed process is lost");
  const assumed = sts.calls.filter(({ action }) => action === "AssumeRole").length;
  t.ok(assumed <= 2 * ROLES.length, "each process makes one STS call for each role");
}

const AUDITED = ROLES.flatMap((role) => [
  `credentials issued to a client ${role}`, `session obtained from STS ${role}`,
]).toSorted();

/** Returns the lines of the audit log about the roles. The client assumes each role under one session name. */
function auditLines({ log }: ServerProcess): string[] {
  return log.filter((line) => ROLES.some((role) => role === line["role_arn"]))
    .map(({ msg, role_arn: role }) => `${String(msg)} ${String(role)}`).toSorted();
}

/** Returns the number of requests to `path` that the process answered with 200. */
async function okResponses({ healthAddress }: ServerProcess, path: string): Promise<number> {
  const { body } = await get(`http://${healthAddress}/metrics`);
  const parts = ["sidecar_requests_total{", `path="${path}"`, 'code="200"'];
  const lines = body.split("\n").filter((line) => parts.every((part) => line.includes(part)));
  return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}
