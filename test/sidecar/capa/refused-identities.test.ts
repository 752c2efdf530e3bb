import { IDENTITIES } from "../../../shared/capa/identities.ts";
import { test } from "tap";
import type { Identity } from "../../../shared/capa/identity.ts";
import { isCurrentIdentity } from "../../../sidecar/capa/identity-sessions.ts";
import { RefusedIdentities } from "../../../sidecar/capa/refused-identities.ts";
import { roleIdentity } from "../../shared/capa-objects.ts";
import { inventoryWith, put } from "../../shared/objects.ts";
import { FakeClock } from "../fake-clock.ts";

const HOUR = 3_600_000;

test("counts refused identities until their role is assumed, or they change, or an hour passes", async (t) => {
  const clock = new FakeClock();
  const inventory = inventoryWith(["a", "b", "c"].map((name) => roleIdentity(name)));
  const roleOf = (name: string): Identity & { kind: "AWSClusterRoleIdentity" } => {
    const found = inventory.of(IDENTITIES).get({ kind: "AWSClusterRoleIdentity", name }, "");
    if (found?.kind !== "AWSClusterRoleIdentity") throw new Error(name);
    return found;
  };
  const identities = inventory.of(IDENTITIES);
  const refused = new RefusedIdentities({ clock, isCurrent: (one) => isCurrentIdentity(identities, one) });
  for (const name of ["a", "b", "c", "a"]) refused.add(roleOf(name));
  t.equal(refused.size, 3, "a repeated rejection counts once");
  t.ok(refused.has(roleOf("a")));
  refused.remove(roleOf("a"));
  t.same([refused.size, refused.has(roleOf("a"))], [2, false]);
  inventory.apply([put(roleIdentity("b", "controller", {}, { externalID: "id-1" }))]);
  t.same([refused.size, refused.has(roleOf("b"))], [1, false], "the changed identity was not refused yet");
  await clock.advance(HOUR - 1);
  t.equal(refused.size, 1);
  await clock.advance(1);
  t.equal(refused.size, 0);
});

test("counts at most 10,000 identities", (t) => {
  const refused = new RefusedIdentities({ clock: new FakeClock(), isCurrent: () => true });
  for (let i = 0; i <= 10_000; i += 1) {
    const [identity] = inventoryWith([roleIdentity(`r${i}`)]).of(IDENTITIES).all();
    if (identity?.kind === "AWSClusterRoleIdentity") refused.add(identity);
  }
  t.equal(refused.size, 10_000);
  t.end();
});
