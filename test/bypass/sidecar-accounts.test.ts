// Attacks that make a controller act in another account than the account that the controller read at its start.
import { test } from "tap";
import type { Credentials } from "../../sidecar/credentials/session.ts";
import { namespaceObject, put, selectorObject } from "../shared/objects.ts";
import { ROLE_A, SCOPED, SidecarUnderTest, TEAM_A } from "../sidecar/sidecar-under-test.ts";
import { Attack } from "./attack.ts";

const ROLE_B = "arn:aws:iam::222222222222:role/b";
const MOVED_TO_B = selectorObject("team-a", { arn: ROLE_B, namespaceSelector: { names: ["team-a"] } });
const OBJECTS = [namespaceObject("team-a"), TEAM_A];

/** Returns a scoped sidecar and its pending STS calls, which the test answers. */
function withPendingCalls(): {
  readonly sidecar: SidecarUnderTest;
  readonly calls: { readonly roleARN: string; readonly answer: () => void }[];
} {
  const calls: { readonly roleARN: string; readonly answer: () => void }[] = [];
  const sidecar: SidecarUnderTest = new SidecarUnderTest({
    ...SCOPED,
    objects: OBJECTS,
    assumeRole: ({ roleARN }) => {
      const { promise, resolve } = Promise.withResolvers<Credentials>();
      calls.push({ roleARN, answer: () => resolve({ ...sidecar.session({ roleARN }), accessKeyID: roleARN }) });
      return promise;
    },
  });
  return { sidecar, calls };
}

test("pins the account of the first response if concurrent requests need different accounts", async (t) => {
  const { sidecar, calls } = withPendingCalls();
  const first = sidecar.get("/v1/credentials");
  while (calls.length < 1) await sidecar.clock.advance(0);
  sidecar.inventory.apply([put(MOVED_TO_B)]);
  const second = sidecar.get("/v1/credentials");
  while (calls.length < 2) await sidecar.clock.advance(0);
  t.same(calls.map(({ roleARN }) => roleARN), [ROLE_A, ROLE_B]);
  for (const { answer } of calls.toReversed()) answer();
  t.same([(await first).statusCode, (await second).statusCode], [409, 200], "the first response pins the account");
});

test("pins no account for a request that timed out, so the selector can change its account", async (t) => {
  const { sidecar, calls } = withPendingCalls();
  const first = sidecar.get("/v1/credentials");
  while (calls.length < 1) await sidecar.clock.advance(0);
  await sidecar.clock.advance(900);
  t.equal((await first).statusCode, 503);
  calls[0]?.answer();
  await sidecar.clock.advance(0);
  sidecar.inventory.apply([put(MOVED_TO_B)]);
  const second = sidecar.get("/v1/credentials");
  for (let turns = 0; turns < 20; turns++) await sidecar.clock.advance(0);
  calls[1]?.answer();
  t.match((await second).json(), { AccountId: "222222222222" }, "a timed-out request pins no account");
});

test("rejects a role in another account after the selector changed and the sidecar restarted", async (t) => {
  const before = new Attack({ ...SCOPED, objects: OBJECTS });
  const keys = await before.keys();
  t.match(keys, { AccountId: "111111111111" });
  const after = new Attack({
    ...SCOPED,
    objects: [namespaceObject("team-a"), MOVED_TO_B],
    issued: before.sidecar.issued,
  });
  t.equal(
    (await after.get("/v1/credentials")).statusCode,
    409,
    "the controller still uses the account that it read at its start",
  );
  t.match((await after.get("/v1/credentials")).json(), {
    message: /already issued credentials of account 111111111111\. Restart the Pod/,
  });
  t.same(after.sidecar.stsCalls, []);
});
