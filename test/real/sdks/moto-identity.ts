import type { Test } from "tap";
import { MOTO, wheelsIn } from "../../programs/wheels.ts";
import { findPrograms } from "../find-programs.ts";
import { stsVariables } from "./assume-role.ts";
import { type Client, printed } from "./client.ts";
import { startMoto } from "./moto.ts";
import { startTestbed } from "./testbed.ts";

/** The identity that moto returns for keys that it did not issue. */
const MOTO_USER = { account: "123456789012", arn: "arn:aws:sts::123456789012:user/moto" };

/**
 * Tests an SDK with a sidecar whose STS is moto, an independent implementation. GetCallerIdentity of moto returns the
 * identity of the credentials that sign the call.
 */
export async function testMotoIdentity(t: Test, client: Client): Promise<void> {
  const folders = await findPrograms(t, MOTO);
  if (folders === null) return;
  const moto = await startMoto(t, await wheelsIn(folders[0]));
  const testbed = await startTestbed(t, { stsEndpoint: moto });
  const variables = { ...(await stsVariables(testbed)), AWS_ENDPOINT_URL_STS: "" };
  const uri = `${testbed.endpoint}/v1/credentials/selectors/team-a`;
  const arn = "arn:aws:sts::111111111111:assumed-role/team-a/ack-role-resolver";
  const asRole = await client.run(["whoami", moto], { ...variables, AWS_CONTAINER_CREDENTIALS_FULL_URI: uri });
  t.match(
    printed(asRole),
    { account: "111111111111", arn, expires: true },
    "the credentials have the role of the selector",
  );
  t.match(
    printed(await client.run(["whoami", moto], variables)),
    MOTO_USER,
    "the credentials have the base identity of the sidecar",
  );
  const roleARN = "arn:aws:iam::111111111111:role/team-a";
  const assumed = await client.run(["assume", roleARN, "mine"], await stsVariables(testbed));
  t.match(printed(assumed), { identity: MOTO_USER, assumed: { arn } }, "AssumeRole returns the same identity");
}
