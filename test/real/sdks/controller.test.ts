import { t as root, test, type Test } from "tap";
import type { ProgramResult } from "../apiserver/run-program.ts";
import { readEnvironment } from "../environment.ts";
import { stsVariables } from "./assumes-roles.ts";
import { runWith, type Variables } from "./client.ts";
import { BASE, type Company, selector, startCompany } from "./company.ts";
import { readReport, totals } from "./controller-report.ts";
import { startFastClock } from "./fast-clock.ts";
import { findGo } from "./go.ts";

const LIMIT_MS = 120_000;
const KINDS = 16;
const REGIONS = 3;
const ROLES = Array.from({ length: 50 }, (_, i) => `arn:aws:iam::${111_111_111_111 + i}:role/team-${i}`);
const OTHER = "arn:aws:iam::333333333333:role/other";
const MANIFESTS = ROLES.map((arn, i) => selector(`team-${i}`, arn, `namespaceSelector: {names: [team-${i}]}`)).join("---\n");
type Controller = (args: readonly string[], variables: Variables) => Promise<ProgramResult>;

root.setTimeout(LIMIT_MS);
test("a controller, as ACK's are written, with the sidecar in STS's place", async (t) => {
  const found = await findGo(readEnvironment());
  if (!found.found) {
    t.plan(0, found.reason);
    return;
  }
  t.setTimeout(LIMIT_MS);
  const run: Controller = runWith(found.program);
  await t.test("each role costs one call of STS, however many kinds and regions", async (tt) => costsOneCall(tt, run));
  await t.test("a role that no selector grants is AccessDenied, and the others are served", async (tt) => isDeniedOne(tt, run));
  await t.test("it dies at its start when nobody says who it is", async (tt) => diesUnknown(tt, run));
  await t.test("no request of 10,000 meets an expired session while sessions follow each other", async (tt) => rollsOver(tt, run));
});

async function costsOneCall(t: Test, run: Controller): Promise<void> {
  const company = await startCompany(t, {}, { manifests: MANIFESTS });
  // What the annotation services.k8s.aws/endpoint-url makes of every client of a controller, STS's too.
  const variables = { ...(await stsVariables(company)), CLIENT_BASE_ENDPOINT: "http://127.0.0.1:1" };
  const startMs = performance.now();
  const report = readReport(await run(["controller", String(KINDS), String(REGIONS), ...ROLES], variables));
  const tookMs = Math.round(performance.now() - startMs);
  t.match(report.identity, { account: "999999999999", arn: BASE.arn });
  t.same(totals(report), { served: KINDS * REGIONS * ROLES.length, errors: {} });
  for (const role of ROLES) t.same(Object.values(report.roles[role]?.sessions ?? {}), [KINDS * REGIONS], `${role}: one session for all`);
  t.equal(assumed(company).length, ROLES.length);
  const refused = company.requests.map(({ status }) => status).filter((status) => status !== 200);
  t.ok(refused.every((status) => status === 503), "what was not served at once may be asked again");
  t.comment(`${KINDS * REGIONS * ROLES.length} providers, ${company.requests.length} requests (${refused.length} asked again), ${assumed(company).length} calls of AssumeRole, ${tookMs} ms`);
}

async function isDeniedOne(t: Test, run: Controller): Promise<void> {
  const company = await startCompany(t);
  const teamA = "arn:aws:iam::111111111111:role/team-a";
  const report = readReport(await run(["controller", "4", "3", teamA, OTHER], await stsVariables(company)));
  t.same(Object.values(report.roles[teamA]?.sessions ?? {}), [12]);
  t.same(report.roles[OTHER]?.sessions, {});
  t.ok(Object.keys(report.roles[OTHER]?.errors ?? {}).every((error) => error.includes("AccessDenied")), "AccessDenied is shown");
  t.same(assumed(company), [teamA], "and STS not asked");
}

async function diesUnknown(t: Test, run: Controller): Promise<void> {
  const company = await startCompany(t);
  const variables = { ...(await stsVariables(company)), AWS_CONTAINER_AUTHORIZATION_TOKEN: "wrong" };
  const { code, stderr } = await run(["controller", "1", "1", OTHER], variables);
  t.equal(code, 1);
  t.match(stderr, /unable to determine the account: .*ERR_TOKEN_INVALID/);
}

/**
 * An hour takes 18 s: the clocks of the sidecar, of STS and of the client go 200 times as fast, for a session's life cannot be waited for.
 * One role's sessions last an hour, the other's 15 minutes; the controller's provider asks for 15 minutes and has no expiry window.
 */
async function rollsOver(t: Test, run: Controller): Promise<void> {
  const clock = startFastClock(t, 200);
  const [hour = "", quarter = ""] = ROLES;
  const manifests = [
    selector("hour", hour, "namespaceSelector: {names: [hour]}"),
    selector("quarter", quarter, "namespaceSelector: {names: [quarter]}", { "ack-role-resolver.io/duration-seconds": "900" }),
  ].join("---\n");
  const company = await startCompany(t, {}, { clock, manifests, sts: { now: clock.now } });
  const variables = { ...(await stsVariables(company)), CLIENT_CLOCK: clock.text };
  const startMs = clock.now();
  const report = readReport(await run(["use", "10000", "1500", company.sts.url, hour, quarter], variables));
  const minutes = Math.round((clock.now() - startMs) / 60_000);
  t.same(totals(report), { served: 10_000, errors: {} }, "0 ExpiredToken");
  const sessions = Object.keys(report.roles[quarter]?.sessions ?? {}).length;
  t.ok(sessions > 1, "one session was followed by another");
  t.comment(`10,000 calls in ${minutes} minutes of the fast clock, over ${sessions} sessions of a quarter of an hour`);
}

function assumed({ sts }: Company): readonly string[] {
  return sts.calls.filter(({ action }) => action === "AssumeRole").map(({ roleARN }) => roleARN ?? "");
}
