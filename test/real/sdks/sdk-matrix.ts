import { test } from "tap";
import { readEnvironment, type RealEnvironment } from "../environment.ts";
import { setTimeLimit } from "../time-limit.ts";
import { testAssumeRole } from "./assume-role.ts";
import { runCases } from "./cases/run-cases.ts";
import type { Client } from "./client.ts";
import { testContainerEndpoint } from "./container-endpoint.ts";
import { testCredentialProcess } from "./credential-process.ts";
import { testMotoIdentity } from "./moto-identity.ts";

/** A client of an SDK or, if the client is missing, the reason why its tests are skipped, with the fix. */
type FoundSDK =
  | { readonly found: true; readonly client: Client }
  | { readonly found: false; readonly reason: string };

/** Defines all tests of an SDK. The tests are skipped if the toolchain of the SDK is missing. */
export function testSDK(name: string, find: (environment: RealEnvironment) => Promise<FoundSDK>): void {
  test(`${name} uses credentials from the sidecar`, async (t) => {
    const found = await find(readEnvironment());
    if (!found.found) {
      t.plan(0, found.reason);
      return;
    }
    setTimeLimit(t);
    const { client } = found;
    await t.test("uses the container endpoint and GetCallerIdentity", async (tt) => testContainerEndpoint(tt, client));
    await t.test("uses the sidecar as STS for AssumeRole", async (tt) => testAssumeRole(tt, client));
    await t.test("uses the credential_process of a profile", async (tt) => testCredentialProcess(tt, client));
    await t.test("receives credentials that moto, an independent implementation of STS, accepts", async (tt) =>
      testMotoIdentity(tt, client),
    );
    await t.test("handles every response of the sidecar as expected", async (tt) => runCases(tt, client));
  });
}
