import { Readable } from "node:stream";
import { test } from "tap";
import type { Requester } from "../../shared/core/context.ts";
import type { ObjectUse } from "../../shared/core/use-rights.ts";
import { stringAt } from "../../shared/formats/json.ts";
import type { KubernetesAPI, KubernetesRequest } from "../../shared/api/api.ts";
import { createLogger } from "../../shared/server/logger.ts";
import { type AccessReviewer, cachedAccessReviewer, reviewAll } from "../../webhook/access-review.ts";
import { FakeClock } from "../shared/fake-clock.ts";

const JANE: Requester = { username: "jane", groups: ["developers"] };

function use(name: string, namespace = "apps"): ObjectUse {
  return { group: "services.k8s.aws", resource: "iamroleselectors", name, namespace };
}

interface UnderTest {
  readonly reviewAccess: AccessReviewer;
  readonly clock: FakeClock;
  /** The requests that the API server received. */
  readonly calls: unknown[];
  readonly log: unknown[];
}

type Respond = (request: KubernetesRequest) => { readonly status: number; readonly text: string } | Promise<never>;

function underTest(respond: Respond): UnderTest {
  const clock = new FakeClock();
  const calls: unknown[] = [];
  const log: unknown[] = [];
  const api: KubernetesAPI = {
    async request(request) {
      calls.push({ path: request.path, method: request.method, body: JSON.parse(request.body ?? "") as unknown });
      const { status, text } = await respond(request);
      return { status, headers: {}, body: Readable.from([Buffer.from(text)]) };
    },
  };
  const destination = { write: (line: string) => void log.push(JSON.parse(line)) };
  const logger = createLogger({ name: "webhook", level: "debug", destination });
  return { reviewAccess: cachedAccessReviewer({ api, clock, log: logger }), clock, calls, log };
}

const respondAllowed =
  (allowed: boolean): Respond =>
  () => ({ status: 201, text: JSON.stringify({ status: { allowed } }) });

test("sends a SubjectAccessReview for the verb use on the selector in the namespace", async (t) => {
  const { reviewAccess, calls, clock } = underTest(respondAllowed(true));
  t.equal(await reviewAccess(JANE, use("team-a")), "allowed");
  t.same(calls, [{
    path: "/apis/authorization.k8s.io/v1/subjectaccessreviews",
    method: "POST",
    body: {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SubjectAccessReview",
      spec: {
        user: "jane",
        groups: ["developers"],
        resourceAttributes: {
          namespace: "apps", group: "services.k8s.aws", resource: "iamroleselectors", name: "team-a", verb: "use",
        },
      },
    },
  }]);
  t.same(clock.delays, [], "the timeout is canceled");
  t.equal(await underTest(respondAllowed(false)).reviewAccess(JANE, use("team-a")), "denied");
});

test("sends the UID and the extra values of the requester, because an authorizer can depend on them", async (t) => {
  const { reviewAccess, calls } = underTest(respondAllowed(true));
  const restricted = { ...JANE, uid: "1234", extra: { "scopes.authorization.openshift.io": ["user:info"] } };
  await reviewAccess(restricted, use("team-a"));
  t.match(calls, [{ body: { spec: { uid: restricted.uid, extra: restricted.extra } } }]);
});

test("caches the result of an access review for 10 s per requester, object and namespace", async (t) => {
  const { reviewAccess, calls, clock } = underTest(respondAllowed(true));
  await Promise.all([reviewAccess(JANE, use("team-a")), reviewAccess(JANE, use("team-a"))]);
  await reviewAccess({ username: "jane", groups: ["developers"] }, use("team-a"));
  t.equal(calls.length, 1, "concurrent requests share one call");
  await reviewAccess(JANE, use("team-b"));
  await reviewAccess({ ...JANE, groups: [] }, use("team-a"));
  await reviewAccess({ ...JANE, username: "joe" }, use("team-a"));
  await reviewAccess({ ...JANE, uid: "1" }, use("team-a"));
  await reviewAccess({ ...JANE, extra: { scopes: ["read"] } }, use("team-a"));
  await reviewAccess(JANE, use("team-a", "other"));
  await reviewAccess(JANE, { ...use("team-a"), resource: "awsclusterroleidentities" });
  await reviewAccess(JANE, { ...use("team-a"), group: "infrastructure.cluster.x-k8s.io" });
  t.equal(calls.length, 9);
  clock.advance(9_999);
  await reviewAccess(JANE, use("team-a"));
  t.equal(calls.length, 9);
  clock.advance(1);
  await reviewAccess(JANE, use("team-a"));
  t.equal(calls.length, 10);
});

test("notices a revoked right after 10 s even if the system time is set back", async (t) => {
  let allowed = true;
  const { reviewAccess, clock } = underTest(() => ({ status: 201, text: JSON.stringify({ status: { allowed } }) }));
  t.equal(await reviewAccess(JANE, use("team-a")), "allowed");
  allowed = false;
  clock.setWallClock(-3_600_000);
  clock.advance(10_000);
  t.equal(await reviewAccess(JANE, use("team-a")), "denied");
});

test("logs a failed access review, returns unknown and does not cache the result", async (t) => {
  const forbidden = JSON.stringify({ kind: "Status", message: "subjectaccessreviews is forbidden" });
  const responses: readonly (readonly [name: string, respond: Respond])[] = [
    ["403", () => ({ status: 403, text: forbidden })],
    ["not JSON", () => ({ status: 200, text: "<html>" })],
    ["connection refused", () => Promise.reject(new Error("connect ECONNREFUSED"))],
    ["allowed is not a boolean", () => ({ status: 201, text: '{"status": {"allowed": "yes"}}' })],
  ];
  for (const [name, respond] of responses) {
    const { reviewAccess, calls, log, clock } = underTest(respond);
    const results = await Promise.all([reviewAccess(JANE, use("team-a")), reviewAccess(JANE, use("team-a"))]);
    t.same(results, ["unknown", "unknown"], name);
    t.equal(calls.length, 1, "the two requests wait for one call");
    const object = { resource: "iamroleselectors", name: "team-a" };
    t.match(log, [{ level: "warn", msg: "access review failed", ...object, user: "jane" }]);
    await reviewAccess(JANE, use("team-a"));
    t.equal(calls.length, 2);
    t.same(clock.delays, []);
  }
});

test("cancels an access review after 1 s and returns unknown", async (t) => {
  const { reviewAccess, clock } = underTest(({ signal }) => new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(new Error("aborted")));
  }));
  const access = reviewAccess(JANE, use("team-a"));
  clock.advance(1_000);
  t.equal(await access, "unknown");
});

test("sends at most 32 access reviews at a time, and returns unknown if one cannot start within 1 s", async (t) => {
  const open: (() => void)[] = [];
  const { reviewAccess, calls, clock, log } = underTest((request) => new Promise((_, reject) => {
    open.push(() => reject(new Error("closed")));
    request.signal.addEventListener("abort", () => reject(new Error("aborted")));
  }));
  const all = Array.from({ length: 34 }, (_, i) => reviewAccess(JANE, use(`s${i}`)));
  t.equal(calls.length, 32);
  open[0]?.();
  t.equal(await all[0], "unknown");
  t.equal(calls.length, 33, "the next review starts");
  clock.advance(1_000);
  t.same(new Set(await Promise.all(all)), new Set(["unknown"]));
  t.equal(calls.length, 33, "the last review sends nothing");
  t.match(log, [{}, { msg: "access review failed: too many access reviews are in flight" }]);
  t.same(clock.delays, []);
});

test("caches at most 10,000 access review results and evicts the oldest result first", async (t) => {
  const { reviewAccess, calls } = underTest(respondAllowed(true));
  await Promise.all(Array.from({ length: 10_001 }, (_, i) => reviewAccess(JANE, use(`s${i}`))));
  await reviewAccess(JANE, use("s1"));
  t.equal(calls.length, 10_001);
  await reviewAccess(JANE, use("s0"));
  t.equal(calls.length, 10_002);
});

test("runs the access reviews of several selectors concurrently", async (t) => {
  const { reviewAccess } = underTest((request) => {
    const name = stringAt(JSON.parse(request.body ?? ""), "spec", "resourceAttributes", "name");
    return respondAllowed(name === "a")(request);
  });
  const access = await reviewAll({ reviewAccess }, JANE, ["a", "b"].map((name) => [name, use(name)] as const));
  t.same(access, new Map([["a", "allowed"], ["b", "denied"]]));
});

test("reviews the access to at most 100 selectors", async (t) => {
  const { reviewAccess, calls } = underTest(respondAllowed(true));
  const uses = Array.from({ length: 101 }, (_, i) => [`s${i}`, use(`s${i}`)] as const);
  const access = await reviewAll({ reviewAccess }, JANE, uses);
  t.same([calls.length, access.size, access.get("s100")], [100, 100, undefined]);
});
