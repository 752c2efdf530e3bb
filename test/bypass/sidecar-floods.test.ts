// Attacks on shared resources of the sidecar, such as its log. Each test expects the sidecar to limit the effect.
import { test } from "tap";
import { ROLE_A } from "../sidecar/sidecar-under-test.ts";
import { assumeBody } from "../sidecar/sts/signed-request.ts";
import { Attack } from "./attack.ts";

test("logs at most 10 lines if a client causes 200 different rejection reasons", async (t) => {
  const credentials = new Attack();
  for (let i = 0; i < 200; i++)
    t.equal((await credentials.get(`/v1/credentials/namespaces/team-a?x${i}=1`)).statusCode, 400);
  t.ok(
    credentials.sidecar.logLines.length <= 10,
    `${credentials.sidecar.logLines.length} log lines of credential requests`,
  );
  const sts = new Attack();
  for (let i = 0; i < 200; i++)
    t.equal(
      (await sts.send(await sts.request({ body: assumeBody({ RoleArn: ROLE_A, [`X${i}`]: "1" }) }))).code,
      "ValidationError",
    );
  t.ok(sts.sidecar.logLines.length <= 10, `${sts.sidecar.logLines.length} log lines of STS requests`);
});
