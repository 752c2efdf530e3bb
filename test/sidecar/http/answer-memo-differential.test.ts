// With the memo of answers, a sidecar must answer, log and count exactly as without it. `inject` enters the framework
// past the memo, so one of two equal sidecars never uses it.
import assert from "node:assert/strict";
import * as fc from "fast-check";
import { test } from "tap";
import { type Closures, NOTHING_CLOSED } from "../../../shared/core/closures.ts";
import { boundAddress } from "../../../shared/server/listen-address.ts";
import { UpstreamSTSError } from "../../../sidecar/sts-upstream/errors.ts";
import { send } from "../../loopback-request.ts";
import { namespaceObject, put, removal, selectorObject } from "../../shared/objects.ts";
import { parameters } from "../../shared/property.ts";
import { HOUR, MINUTE, SECOND } from "../fake-sts.ts";
import { HEADERS, ROLE_A, SCOPED, type Setup, SidecarUnderTest, TEAM_A, TOKEN } from "../sidecar-under-test.ts";

const OTHER_TOKEN = "another-planted-token-0123456789";
const PATHS = [
  "/v1/credentials", "/v1/credentials/selectors/team-a", "/v1/credentials/namespaces/team-a",
  "/v1/credentials/namespaces/team-a?kind=Bucket.s3.services.k8s.aws", "/v1/credentials/namespaces/team-b",
];
const SENT = [
  HEADERS, { ...HEADERS, authorization: OTHER_TOKEN }, { ...HEADERS, authorization: "x" }, { ...HEADERS, via: "proxy" },
];
const GRANT = { namespaceSelector: { names: ["team-a"] } };

interface World {
  readonly closures: Closures;
  readonly denies: boolean;
}

/** Two equal sidecars. */
class Pair {
  #world: World = { closures: NOTHING_CLOSED, denies: false };
  readonly #sidecars: readonly [SidecarUnderTest, SidecarUnderTest];
  #served = 0;
  answered = 0;

  constructor(setup: Setup) {
    this.#sidecars = [this.#sidecar(setup), this.#sidecar(setup)];
  }

  #sidecar(setup: Setup): SidecarUnderTest {
    const world = (): World => this.#world;
    const profile = { get closures() { return world().closures; }, status: null };
    const sidecar: SidecarUnderTest = new SidecarUnderTest({
      ...setup, profile, objects: [namespaceObject("team-a"), namespaceObject("team-b"), TEAM_A],
      assumeRole: async (request) => {
        if (!world().denies) return sidecar.session(request);
        throw new UpstreamSTSError("STS returned AccessDenied", { stsCode: "AccessDenied", stsStatus: 403 });
      },
    });
    return sidecar;
  }

  async listen(): Promise<void> {
    const [{ app }] = this.#sidecars;
    app.addHook("onRequest", (_request, _reply, done) => { this.#served += 1; done(); });
    await app.listen({ host: "127.0.0.1", port: 0 });
  }

  async close(): Promise<void> {
    await Promise.all(this.#sidecars.map(({ app }) => app.close()));
  }

  async change(apply: (sidecar: SidecarUnderTest) => unknown): Promise<void> {
    await Promise.all(this.#sidecars.map(apply));
  }

  setWorld(change: Partial<World>): void {
    this.#world = { ...this.#world, ...change };
  }

  /** Sends the request to both sidecars. Returns the answers. */
  async get(path: string, headers: Readonly<Record<string, string>>): Promise<readonly unknown[]> {
    const [memo, plain] = this.#sidecars;
    const before = this.#served;
    const { status, body } = await send(`http://127.0.0.1:${boundAddress(memo.app.server).port}${path}`, { headers });
    if (this.#served === before) this.answered += 1;
    const { statusCode, body: plainBody } = await plain.get(path, headers);
    return [{ status, body }, { status: statusCode, body: plainBody }];
  }

  /** Returns the audit lines, the calls of STS and the counters of both sidecars. */
  async effects(): Promise<readonly unknown[]> {
    return await Promise.all(this.#sidecars.map(async ({ auditLines, stsCalls, registry }) => {
      const metrics = (await registry.metrics()).split("\n");
      const counters = metrics.filter((line) => /^ack_role_resolver_sidecar_\w+_total/.test(line));
      return { auditLines, stsCalls, counters: counters.toSorted() };
    }));
  }
}

type Step = (pair: Pair) => Promise<readonly unknown[] | void>;

function step(name: string, run: Step): { readonly name: string; readonly run: Step } {
  return { name, run };
}

const selectors = [{}, { "ack-role-resolver.io/external-id": "id" }].flatMap((annotations) => [
  put(selectorObject("team-a", { ...GRANT, arn: ROLE_A }, { annotations })),
  put(selectorObject("team-a", { ...GRANT, arn: "arn:aws:iam::222222222222:role/a" }, { annotations })),
]);
const removed = removal("services.k8s.aws", "IAMRoleSelector", "team-a");
const changes = [...selectors, removed, put(namespaceObject("team-c"))];
const repeated = fc.constantFrom(...PATHS).map((path) => step(`get ${path}`, (pair) => pair.get(path, HEADERS)));
const anyRequest = fc.tuple(fc.constantFrom(...PATHS), fc.constantFrom(...SENT)).map(([path, headers]) => (
  step(`get ${path} ${JSON.stringify(headers)}`, (pair) => pair.get(path, headers))));
const anyChange = fc.oneof(
  fc.constantFrom(...changes).map((change) => step(JSON.stringify(change), (pair) => (
    pair.change(({ inventory }) => inventory.apply([change]))))),
  fc.constantFrom(TOKEN, OTHER_TOKEN).map((token) => step(`token ${token}`, (pair) => (
    pair.change((sidecar) => sidecar.token.rotate(token))))),
  fc.constantFrom(SECOND, MINUTE, 31 * MINUTE, HOUR, 2 * HOUR).map((ms) => step(`${ms} ms pass`, (pair) => (
    pair.change(({ clock }) => clock.advance(ms))))),
  fc.constantFrom(31 * MINUTE, 59 * MINUTE, -HOUR).map((ms) => step(`the clock is set by ${ms} ms`, (pair) => (
    pair.change(({ clock }) => clock.jump(ms))))),
  // A closed base would give both sidecars random keys.
  fc.constantFrom(NOTHING_CLOSED, { ...NOTHING_CLOSED, unmatched: true }).map((closures) => (
    step(`profile ${JSON.stringify(closures)}`, async (pair) => pair.setWorld({ closures })))),
  fc.boolean().map((denies) => step(`STS ${denies ? "denies" : "grants"}`, async (pair) => pair.setWorld({ denies }))),
);
const steps = fc.array(fc.oneof(
  { weight: 4, arbitrary: repeated }, { weight: 1, arbitrary: anyRequest }, { weight: 2, arbitrary: anyChange },
), { minLength: 5, maxLength: 30 });

test("answers, logs and counts with its memo as without it, whatever changes between two requests", async (t) => {
  let answered = 0;
  await fc.assert(fc.asyncProperty(fc.constantFrom({}, SCOPED), steps, async (setup, all) => {
    const pair = new Pair(setup);
    await pair.listen();
    try {
      for (const { name, run } of all) {
        const [memo, plain] = (await run(pair)) ?? [];
        assert.deepEqual(memo, plain, name);
      }
      const [memo, plain] = await pair.effects();
      assert.deepEqual(memo, plain);
      answered += pair.answered;
    } finally {
      await pair.close();
    }
  }), parameters(t, 150));
  t.ok(answered > 200, `the memo has answered ${answered} requests`);
});
