import { Readable } from "node:stream";
import { test } from "tap";
import type { Requester } from "../../shared/decisions/context.ts";
import { stringAt } from "../../shared/decisions/kubernetes/json.ts";
import type { KubernetesAPI, KubernetesRequest } from "../../shared/inventory/cluster/api.ts";
import { createLogger } from "../../shared/server/logger.ts";
import { accessReviews, type AskAccess, askAll } from "../../webhook/access-review.ts";
import { FakeClock } from "../shared/inventory/fake-clock.ts";

const JANE: Requester = { username: "jane", groups: ["developers"] };

interface UnderTest {
  readonly ask: AskAccess;
  readonly clock: FakeClock;
  /** The bodies of the calls that were made. */
  readonly calls: unknown[];
  readonly log: unknown[];
}

type Answer = (request: KubernetesRequest) => { readonly status: number; readonly text: string } | Promise<never>;

function underTest(answer: Answer): UnderTest {
  const clock = new FakeClock();
  const calls: unknown[] = [];
  const log: unknown[] = [];
  const api: KubernetesAPI = {
    async request(request) {
      calls.push({ path: request.path, method: request.method, body: JSON.parse(request.body ?? "") as unknown });
      const { status, text } = await answer(request);
      return { status, headers: {}, body: Readable.from([Buffer.from(text)]) };
    },
  };
  const logger = createLogger({ name: "webhook", level: "debug", destination: { write: (line) => void log.push(JSON.parse(line)) } });
  return { ask: accessReviews({ api, clock, log: logger }), clock, calls, log };
}

const says = (allowed: boolean): Answer => () => ({ status: 201, text: JSON.stringify({ status: { allowed } }) });

test("who may use a selector is asked by SubjectAccessReview", async (t) => {
  const { ask, calls, clock } = underTest(says(true));
  t.equal(await ask(JANE, "team-a"), "allowed");
  t.same(calls, [{
    path: "/apis/authorization.k8s.io/v1/subjectaccessreviews",
    method: "POST",
    body: {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SubjectAccessReview",
      spec: { user: "jane", groups: ["developers"], resourceAttributes: { group: "services.k8s.aws", resource: "iamroleselectors", name: "team-a", verb: "use" } },
    },
  }]);
  t.same(clock.delays, [], "the time limit is called off");
  t.equal(await underTest(says(false)).ask(JANE, "team-a"), "denied");
});

test("an answer is kept for 10 s, for each user with his groups and each selector", async (t) => {
  const { ask, calls, clock } = underTest(says(true));
  await Promise.all([ask(JANE, "team-a"), ask(JANE, "team-a")]);
  await ask({ username: "jane", groups: ["developers"] }, "team-a");
  t.equal(calls.length, 1, "one call however many ask");
  await ask(JANE, "team-b");
  await ask({ ...JANE, groups: [] }, "team-a");
  await ask({ ...JANE, username: "joe" }, "team-a");
  t.equal(calls.length, 4);
  clock.advance(9_999);
  await ask(JANE, "team-a");
  t.equal(calls.length, 4);
  clock.advance(1);
  await ask(JANE, "team-a");
  t.equal(calls.length, 5);
});

test("what could not be found out is unknown, logged, and asked anew by the next", async (t) => {
  const answers: readonly (readonly [name: string, answer: Answer])[] = [
    ["forbidden", () => ({ status: 403, text: JSON.stringify({ kind: "Status", message: "subjectaccessreviews is forbidden" }) })],
    ["no JSON", () => ({ status: 200, text: "<html>" })],
    ["no answer", () => Promise.reject(new Error("connect ECONNREFUSED"))],
    ["an allowed that is none", () => ({ status: 201, text: '{"status": {"allowed": "yes"}}' })],
  ];
  for (const [name, answer] of answers) {
    const { ask, calls, log, clock } = underTest(answer);
    const asked = await Promise.all([ask(JANE, "team-a"), ask(JANE, "team-a")]);
    t.same(asked, ["unknown", "unknown"], name);
    t.equal(calls.length, 1, "both wait for one call");
    t.match(log, [{ level: "warn", msg: "access review failed", selector: "team-a", user: "jane" }]);
    await ask(JANE, "team-a");
    t.equal(calls.length, 2);
    t.same(clock.delays, []);
  }
});

test("a call is given up after a second", async (t) => {
  const { ask, clock } = underTest(({ signal }) => new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(new Error("aborted")));
  }));
  const answer = ask(JANE, "team-a");
  clock.advance(1_000);
  t.equal(await answer, "unknown");
});

test("no more than 10,000 answers are kept, the oldest going first", async (t) => {
  const { ask, calls } = underTest(says(true));
  for (let i = 0; i <= 10_000; i++) void ask(JANE, `s${i}`);
  await ask(JANE, "s1");
  t.equal(calls.length, 10_001);
  await ask(JANE, "s0");
  t.equal(calls.length, 10_002);
});

test("several selectors are asked about at once", async (t) => {
  const { ask } = underTest((request) => says(stringAt(JSON.parse(request.body ?? ""), "spec", "resourceAttributes", "name") === "a")(request));
  t.same(await askAll(ask, JANE, ["a", "b"]), new Map([["a", "allowed"], ["b", "denied"]]));
});
