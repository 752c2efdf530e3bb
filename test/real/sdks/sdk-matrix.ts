import { t as root, test } from "tap";
import { readEnvironment, type RealEnvironment } from "../environment.ts";
import { answersTheCases } from "./answers-the-cases.ts";
import { assumesRoles } from "./assumes-roles.ts";
import type { Client } from "./client.ts";
import { readsTheSidecar } from "./reads-the-sidecar.ts";
import { trustsMoto } from "./trusts-moto.ts";
import { usesAProfile } from "./uses-a-profile.ts";

/** A client, or one sentence that says why its tests are skipped and how to have them run. */
export type FoundSDK = { readonly found: true; readonly client: Client } | { readonly found: false; readonly reason: string };

const LIMIT_MS = 120_000;

/** Every test that one SDK has to pass, skipped as one where its toolchain is missing. */
export function testSDK(name: string, find: (environment: RealEnvironment) => Promise<FoundSDK>): void {
  root.setTimeout(LIMIT_MS);
  test(`${name} gets credentials from the sidecar as its users' programs do`, async (t) => {
    const found = await find(readEnvironment());
    if (!found.found) {
      t.plan(0, found.reason);
      return;
    }
    t.setTimeout(LIMIT_MS);
    const { client } = found;
    await t.test("and finds out who it is", async (tt) => readsTheSidecar(tt, client));
    await t.test("and assumes roles with the sidecar in STS's place", async (tt) => assumesRoles(tt, client));
    await t.test("and takes them of a profile's credential_process", async (tt) => usesAProfile(tt, client));
    await t.test("and is whom moto says, which nobody here wrote", async (tt) => trustsMoto(tt, client));
    await t.test("and fares as told in every case", async (tt) => answersTheCases(tt, client));
  });
}
