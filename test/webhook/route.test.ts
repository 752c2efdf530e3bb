import fastify from "fastify";
import { Registry } from "prom-client";
import { test } from "tap";
import { ResolverError } from "../../shared/formats/errors.ts";
import { EndOfTurn } from "../../shared/server/end-of-turn.ts";
import { createLogger } from "../../shared/server/logger.ts";
import { createWebhookMetrics } from "../../webhook/metrics.ts";
import { LargeBodies } from "../../webhook/body/large-bodies.ts";
import { acceptReviewBodies } from "../../webhook/body/parse.ts";
import { addReviewRoute, budgetMs } from "../../webhook/route.ts";
import { fixture } from "./reviews.ts";

test("returns the timeout of the API server minus a margin of 100 ms", (t) => {
  t.equal(budgetMs({ timeout: "10s" }), 9_900);
  t.equal(budgetMs({ timeout: "1s" }), 900);
  t.equal(budgetMs({ timeout: "1.5s" }), 1_400);
  t.equal(budgetMs({ timeout: "2m" }), 119_900);
  t.equal(budgetMs({ timeout: "150ms" }), 50);
  t.equal(budgetMs({ timeout: "50ms" }), 0);
  t.end();
});

test("returns the default timeout of the API server if the request has no valid timeout", (t) => {
  const queries = [null, {}, { timeout: "" }, { timeout: "soon" }, { timeout: ["1s", "2s"] }, { timeout: "-1s" }];
  for (const query of queries) t.equal(budgetMs(query), 9_900);
  t.end();
});

interface Answer {
  readonly status: number;
  readonly connection: unknown;
  readonly json: unknown;
  readonly metrics: string;
}

const newStep = (): EndOfTurn => new EndOfTurn(() => {});

/** Returns the response to a review whose handler throws `cause`. */
async function answerOf(cause: unknown, admitsFailed = false): Promise<Answer> {
  const [app, registry] = [fastify(), new Registry()];
  const ports = {
    log: createLogger({ name: "webhook", level: "silent" }), metrics: createWebhookMetrics(registry),
    clock: { steady: () => 0 }, admitsFailed: () => admitsFailed,
    turn: { reviews: newStep(), records: newStep(), responses: newStep() },
  };
  const fail = (): never => {
    throw cause;
  };
  acceptReviewBodies(app, new LargeBodies(0, () => {}), ports.clock);
  addReviewRoute(app, "/validate", fail, ports);
  const response = await app.inject({ method: "POST", url: "/validate", payload: fixture("selector-create") });
  const { statusCode: status, headers: { connection } } = response;
  return { status, connection, json: response.json(), metrics: await registry.metrics() };
}

const COUNTED = (code: string): string => (
  `ack_role_resolver_webhook_errors_total{path="/validate",code="${code}"} 1`
);

test("denies an object whose review fails, and counts the error", async (t) => {
  const range = await answerOf(new RangeError("Maximum call stack size exceeded"));
  const message = "ERR_INTERNAL: The webhook failed with an internal error. See its log for the cause.";
  const failed = { status: "Failure", message, reason: "InternalError", code: 500 };
  t.match([range.status, range.json], [200, { response: { allowed: false, status: failed } }]);
  t.match(range.metrics, COUNTED("ERR_INTERNAL"));
  const late = await answerOf(new ResolverError("ERR_REQUEST_DEADLINE", "Late."));
  const timeout = { status: "Failure", message: "ERR_REQUEST_DEADLINE: Late.", reason: "Timeout", code: 504 };
  t.match([late.status, late.json], [200, { response: { allowed: false, status: timeout } }]);
  t.match(late.metrics, COUNTED("ERR_REQUEST_DEADLINE"));
  t.notMatch(late.json, { response: { status: { details: {} } } }, "the review of a large object is not repeated");
});

test("lets the client repeat its request soon, on a new connection, after an error that ends soon", async (t) => {
  for (const code of ["ERR_PENDING_WRITES", "ERR_REQUEST_CONNECTIONS", "ERR_NAMESPACE_UNREAD"] as const) {
    const { status, json, connection } = await answerOf(new ResolverError(code, "Busy."));
    const denial = { message: `${code}: Busy.`, reason: "Timeout", details: { retryAfterSeconds: 1 }, code: 504 };
    t.match([status, json], [200, { response: { allowed: false, status: denial } }]);
    t.equal(connection, "close");
  }
});

test("admits an object whose review fails if the profile does, and returns a warning", async (t) => {
  const { status, json, metrics } = await answerOf(new Error("planted"), true);
  const warnings = ["ERR_INTERNAL (would be denied) object admitted without checks (--profile observe)"];
  t.match([status, json], [200, { response: { allowed: true, warnings } }]);
  t.match(metrics, COUNTED("ERR_INTERNAL"));
});

test("returns an HTTP error while the inventory is not loaded, so that the failurePolicy applies", async (t) => {
  for (const admitsFailed of [false, true]) {
    const { status, json } = await answerOf(new ResolverError("ERR_NOT_READY", "Not loaded."), admitsFailed);
    t.match([status, json], [500, { kind: "Status", message: "ERR_NOT_READY: Not loaded." }]);
  }
});
