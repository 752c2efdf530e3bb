// Ways to have a controller act in another account than the one that it read at its start. Named by what happens to the sidecar of its scope.
import { test } from "tap";
import type { Credentials } from "../../sidecar/credentials/session.ts";
import { namespaceObject, put, selectorObject } from "../shared/decisions/objects.ts";
import { ROLE_A, SCOPED, SidecarUnderTest, TEAM_A } from "../sidecar/sidecar-under-test.ts";
import { Attack } from "./attack.ts";

const ROLE_B = "arn:aws:iam::222222222222:role/b";
const B_INSTEAD = selectorObject("team-a", { arn: ROLE_B, namespaceSelector: { names: ["team-a"] } });
const OBJECTS = [namespaceObject("team-a"), TEAM_A];

/** A sidecar of the scope whose calls of STS are answered by hand, in the order of asking. */
function byHand(): { readonly sidecar: SidecarUnderTest; readonly calls: { readonly roleARN: string; readonly answer: () => void }[] } {
  const calls: { readonly roleARN: string; readonly answer: () => void }[] = [];
  const sidecar: SidecarUnderTest = new SidecarUnderTest({
    ...SCOPED, objects: OBJECTS,
    assumeRole: ({ roleARN }) => {
      const { promise, resolve } = Promise.withResolvers<Credentials>();
      calls.push({ roleARN, answer: () => resolve({ ...sidecar.session({ roleARN }), accessKeyID: roleARN }) });
      return promise;
    },
  });
  return { sidecar, calls };
}

test("the first two answers, in two accounts, are waited for at once", async (t) => {
  const { sidecar, calls } = byHand();
  const first = sidecar.get("/v1/credentials");
  while (calls.length < 1) await sidecar.clock.advance(0);
  sidecar.inventory.apply([put(B_INSTEAD)]);
  const second = sidecar.get("/v1/credentials");
  while (calls.length < 2) await sidecar.clock.advance(0);
  t.same(calls.map(({ roleARN }) => roleARN), [ROLE_A, ROLE_B]);
  for (const { answer } of calls.toReversed()) answer();
  t.same([(await first).statusCode, (await second).statusCode], [409, 200], "whichever comes first is the only one");
});

test("STS takes too long over the first answer, which nobody gets, and the selector moves meanwhile", async (t) => {
  const { sidecar, calls } = byHand();
  const first = sidecar.get("/v1/credentials");
  while (calls.length < 1) await sidecar.clock.advance(0);
  await sidecar.clock.advance(900);
  t.equal((await first).statusCode, 503);
  calls[0]?.answer();
  await sidecar.clock.advance(0);
  sidecar.inventory.apply([put(B_INSTEAD)]);
  const second = sidecar.get("/v1/credentials");
  for (let turns = 0; turns < 20; turns++) await sidecar.clock.advance(0);
  calls[1]?.answer();
  t.match((await second).json(), { AccountId: "222222222222" }, "no account was answered before, so none is held against this one");
});

test("the sidecar is killed and comes back when the selector has moved", async (t) => {
  const before = new Attack({ ...SCOPED, objects: OBJECTS });
  const keys = await before.keys();
  t.match(keys, { AccountId: "111111111111" });
  const after = new Attack({ ...SCOPED, objects: [namespaceObject("team-a"), B_INSTEAD], issued: before.sidecar.issued });
  t.equal((await after.get("/v1/credentials")).statusCode, 409, "its controller lives on, and so does what it holds");
  t.match((await after.get("/v1/credentials")).json(), { message: /has answered for account 111111111111\. Restart the Pod/ });
  t.same(after.sidecar.stsCalls, []);
});
