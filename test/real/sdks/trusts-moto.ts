import type { Test } from "tap";
import { readEnvironment } from "../environment.ts";
import { stsVariables } from "./assumes-roles.ts";
import { type Client, printed } from "./client.ts";
import { startCompany } from "./company.ts";
import { MOTO, startMoto } from "./moto.ts";
import { findWheels } from "./wheels.ts";

/** Whoever calls moto with keys that it did not issue. */
const MOTO_USER = { account: "123456789012", arn: "arn:aws:sts::123456789012:user/moto" };

/** One SDK with a sidecar that asks an STS which nobody here wrote, which then says whose the credentials are. */
export async function trustsMoto(t: Test, client: Client): Promise<void> {
  const found = await findWheels(readEnvironment(), MOTO);
  if (!found.found) {
    t.plan(0, found.reason);
    return;
  }
  const moto = await startMoto(t, found.wheels);
  const company = await startCompany(t, { stsEndpoint: moto });
  const variables = { ...(await stsVariables(company)), AWS_ENDPOINT_URL_STS: "" };
  const role = { ...variables, AWS_CONTAINER_CREDENTIALS_FULL_URI: `${company.endpoint}/v1/credentials/selectors/team-a` };
  const arn = "arn:aws:sts::111111111111:assumed-role/team-a/ack-role-resolver";
  t.match(printed(await client.run(["whoami", moto], role)), { account: "111111111111", arn, expires: true }, "the selector's role");
  t.match(printed(await client.run(["whoami", moto], variables)), MOTO_USER, "the sidecar's own identity");
  const assumed = await client.run(["assume", "arn:aws:iam::111111111111:role/team-a", "mine"], await stsVariables(company));
  t.match(printed(assumed), { identity: MOTO_USER, assumed: { arn } }, "the same by AssumeRole");
}
