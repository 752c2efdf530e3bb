// Attacks on the form and the query of `POST /sts`. Each test expects a rejection.
import { test } from "tap";
import { HOST } from "../sidecar/sts/signed-request.ts";
import { Attack, OTHER_ROLE } from "./attack.ts";

const attack = new Attack();

test("rejects a presigned URL", async (t) => {
  const scope = "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=x&X-Amz-SignedHeaders=host";
  const query = `Action=GetCallerIdentity&Version=2011-06-15&${scope}&X-Amz-Signature=${"0".repeat(64)}`;
  for (const method of ["GET", "POST"] as const) {
    const answer = await attack.send({ method, url: `/sts?${query}`, headers: { host: HOST }, payload: "" });
    t.match(
      answer,
      {
        status: 400,
        code: "MalformedQueryString",
        message: /^The STS endpoint accepts no query string and no presigned URL\. /,
      },
      method,
    );
  }
});

test("rejects an STS request that has an action or a role in its query string", async (t) => {
  const wire = new Attack();
  t.equal(
    await wire.statusOverTCP(t, "/sts?", await wire.request()),
    400,
    "rejects a path that ends in a question mark",
  );
  for (const query of ["Action=GetCallerIdentity", `RoleArn=${OTHER_ROLE}`, "x"]) {
    t.match(
      await attack.send({ ...(await attack.request()), url: `/sts?${query}` }),
      { status: 400, code: "MalformedQueryString" },
      query,
    );
  }
});

test("escapes markup and control characters of the request in the response", async (t) => {
  const answer = await attack.send(
    await attack.request({ body: `Action=${encodeURIComponent("<script>&\u0000\u001b[2K\u202e")}` }),
  );
  t.match(answer, { status: 400, code: "InvalidAction" });
  t.notMatch(answer.body, /<script>|(?!\n)\p{Cc}|\p{Cf}/u);
});

test("the log and metrics of all attacks in this file contain no secret", async (t) => {
  const output = [...attack.sidecar.logLines, await attack.sidecar.registry.metrics()].join("\n");
  t.ok(attack.sidecar.logLines.length > 2);
  t.notMatch(output, /planted|AWS4-HMAC-SHA256 Credential/);
});
