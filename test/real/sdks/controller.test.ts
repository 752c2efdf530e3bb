import { type Test, test } from "tap";
import type { ProgramResult } from "../../programs/run-program.ts";
import { GO_CLIENT, goClientIn } from "../../programs/go-client.ts";
import { findPrograms } from "../find-programs.ts";
import { stsVariables } from "./assume-role.ts";
import { runWith, type Variables } from "./client.ts";
import { readReport, totals } from "./controller-report.ts";
import { startFastClock } from "./fast-clock.ts";
import { BASE, selector, startTestbed, type Testbed } from "./testbed.ts";

const KINDS = 16;
const REGIONS = 3;
const ROLES = Array.from({ length: 50 }, (_, i) => `arn:aws:iam::${111_111_111_111 + i}:role/team-${i}`);
const OTHER = "arn:aws:iam::333333333333:role/other";
const SELECTORS = ROLES.map((arn, i) => selector(`team-${i}`, arn, `namespaceSelector: {names: [team-${i}]}`));
const MANIFESTS = SELECTORS.join("---\n");
type Controller = (args: readonly string[], variables: Variables) => Promise<ProgramResult>;

test("the sidecar serves as STS for a program that uses the AWS SDK like an ACK controller", async (t) => {
  const folders = await findPrograms(t, GO_CLIENT);
  if (folders === null) return;
  const run: Controller = runWith(goClientIn(folders[0]));
  await t.test("makes one STS call for each role, for all kinds and regions", async (tt) => testCallsPerRole(tt, run));
  await t.test("denies a role that no selector grants, and issues the other roles", async (tt) =>
    testDeniedRole(tt, run),
  );
  await t.test("the program exits at startup if the base identity of the sidecar is unavailable", async (tt) =>
    testUnknownIdentity(tt, run),
  );
  await t.test("the program uses no expired session in 10,000 requests", async (tt) => testExpiringSessions(tt, run));
});

async function testCallsPerRole(t: Test, run: Controller): Promise<void> {
  const testbed = await startTestbed(t, {}, { manifests: MANIFESTS });
  // The annotation services.k8s.aws/endpoint-url sets the endpoint of every AWS client of a controller, including the
  // STS client.
  const variables = { ...(await stsVariables(testbed)), CLIENT_BASE_ENDPOINT: "http://127.0.0.1:1" };
  const startMs = performance.now();
  const report = readReport(await run(["controller", String(KINDS), String(REGIONS), ...ROLES], variables));
  const durationMs = Math.round(performance.now() - startMs);
  t.match(report.identity, { account: "999999999999", arn: BASE.arn });
  t.same(totals(report), { served: KINDS * REGIONS * ROLES.length, errors: {} });
  for (const role of ROLES) {
    const sessions = Object.values(report.roles[role]?.sessions ?? {});
    t.same(sessions, [KINDS * REGIONS], `${role}: one session for all`);
  }
  t.equal(assumedRoles(testbed).length, ROLES.length);
  const retried = testbed.requests.map(({ status }) => status).filter((status) => status !== 200);
  t.ok(retried.every((status) => status === 503), "requests that fail at first can be retried");
  const requests = `${testbed.requests.length} requests (${retried.length} retried)`;
  const calls = `${assumedRoles(testbed).length} AssumeRole calls`;
  t.comment(`${KINDS * REGIONS * ROLES.length} providers, ${requests}, ${calls}, ${durationMs} ms`);
}

async function testDeniedRole(t: Test, run: Controller): Promise<void> {
  const testbed = await startTestbed(t);
  const teamA = "arn:aws:iam::111111111111:role/team-a";
  const report = readReport(await run(["controller", "4", "3", teamA, OTHER], await stsVariables(testbed)));
  t.same(Object.values(report.roles[teamA]?.sessions ?? {}), [12]);
  t.same(report.roles[OTHER]?.sessions, {});
  const errors = Object.keys(report.roles[OTHER]?.errors ?? {});
  t.ok(errors.every((error) => error.includes("AccessDenied")), "the error is AccessDenied");
  t.same(assumedRoles(testbed), [teamA], "STS is not called for the denied role");
}

async function testUnknownIdentity(t: Test, run: Controller): Promise<void> {
  const testbed = await startTestbed(t);
  const variables = { ...(await stsVariables(testbed)), AWS_CONTAINER_AUTHORIZATION_TOKEN: "wrong" };
  const { code, stderr } = await run(["controller", "1", "1", OTHER], variables);
  t.equal(code, 1);
  t.match(stderr, /unable to determine the account: .*ERR_TOKEN_INVALID/);
}

/**
 * The clocks of the sidecar, of STS and of the client run 200 times as fast, so an hour takes 18 s. The sessions of one
 * role last an hour, and the sessions of the other role last 15 minutes. The controller requests 15 minutes and has no
 * expiry window.
 */
async function testExpiringSessions(t: Test, run: Controller): Promise<void> {
  const clock = startFastClock(t, 200);
  const [hour = "", quarter = ""] = ROLES;
  const manifests = [
    selector("hour", hour, "namespaceSelector: {names: [hour]}"),
    selector(
      "quarter", quarter, "namespaceSelector: {names: [quarter]}", { "ack-role-resolver.io/duration-seconds": "900" },
    ),
  ].join("---\n");
  const testbed = await startTestbed(t, {}, { clock, manifests, sts: { now: clock.now } });
  const variables = { ...(await stsVariables(testbed)), CLIENT_CLOCK: clock.text };
  const startMs = clock.now();
  const report = readReport(await run(["use", "10000", "1500", testbed.sts.url, hour, quarter], variables));
  const minutes = Math.round((clock.now() - startMs) / 60_000);
  t.same(totals(report), { served: 10_000, errors: {} }, "no request fails with ExpiredToken");
  const sessions = Object.keys(report.roles[quarter]?.sessions ?? {}).length;
  t.ok(sessions > 1, "sessions were renewed");
  t.comment(`10,000 calls in ${minutes} minutes of the fast clock, with ${sessions} sessions of 15 minutes`);
}

function assumedRoles({ sts }: Testbed): readonly string[] {
  return sts.calls.filter(({ action }) => action === "AssumeRole").map(({ roleARN }) => roleARN ?? "");
}
