import { test } from "tap";
import { findPrograms } from "../find-programs.ts";
import { ALL_CLIENTS } from "./all-clients.ts";
import { testAssumeRole } from "./assume-role.ts";
import { runCases } from "./cases/run-cases.ts";
import type { SDK } from "./client.ts";
import { testContainerEndpoint } from "./container-endpoint.ts";
import { testCredentialProcess } from "./credential-process.ts";
import { testMotoIdentity } from "./moto-identity.ts";

/** Defines all tests of an SDK. The tests are skipped if a program that the client needs is missing. */
export function testSDK(sdk: SDK): void {
  const { name, recipe, clientIn } = ALL_CLIENTS[sdk];
  test(`${name} uses credentials from the sidecar`, async (t) => {
    const folders = await findPrograms(t, ...(recipe === null ? [] : [recipe]));
    if (folders === null) return;
    const client = await clientIn(folders[0] ?? "");
    await t.test("uses the container endpoint and GetCallerIdentity", async (tt) => testContainerEndpoint(tt, client));
    await t.test("uses the sidecar as STS for AssumeRole", async (tt) => testAssumeRole(tt, client));
    await t.test("uses the credential_process of a profile", async (tt) => testCredentialProcess(tt, client));
    await t.test("receives credentials that moto, an independent implementation of STS, accepts", async (tt) =>
      testMotoIdentity(tt, client),
    );
    await t.test("handles every response of the sidecar as expected", async (tt) => runCases(tt, client));
  });
}
