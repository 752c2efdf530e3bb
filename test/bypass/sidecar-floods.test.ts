// Ways to use up what the sidecar shares with others: its log, its memory, its connections. Named by what the attacker does.
import { test } from "tap";
import { ROLE_A } from "../sidecar/sidecar-under-test.ts";
import { assumeBody } from "../sidecar/sts/signed-request.ts";
import { Attack } from "./attack.ts";

test("one who is believed is refused in ever new words, to fill the log", async (t) => {
  const credentials = new Attack();
  for (let i = 0; i < 200; i++) t.equal((await credentials.get(`/v1/credentials/namespaces/team-a?x${i}=1`)).statusCode, 400);
  t.ok(credentials.sidecar.logLines.length <= 10, `${credentials.sidecar.logLines.length} lines`);
  const sts = new Attack();
  for (let i = 0; i < 200; i++) t.equal((await sts.send(await sts.request({ body: assumeBody({ RoleArn: ROLE_A, [`X${i}`]: "1" }) }))).code, "ValidationError");
  t.ok(sts.sidecar.logLines.length <= 10, `${sts.sidecar.logLines.length} lines`);
});
