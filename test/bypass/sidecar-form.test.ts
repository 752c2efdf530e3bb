// Attacks on the form and the query of `POST /sts`. Each test expects a rejection.
import { test } from "tap";
import { elementOf, FORM, HOST } from "../sidecar/sts/signed-request.ts";
import { ASSUME, Attack, OTHER_ROLE, withHeaders } from "./attack.ts";

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

test("rejects a form that has a parameter twice", async (t) => {
  for (const extra of [
    "Action=GetCallerIdentity",
    `RoleArn=${encodeURIComponent(OTHER_ROLE)}`,
    "RoleSessionName=b",
    "%41ction=AssumeRole",
    "Role%41rn=x",
  ]) {
    t.match(
      await attack.send(await attack.request({ body: `${ASSUME}&${extra}` })),
      { status: 400, code: "ValidationError", message: /^Repeated parameters: / },
      extra,
    );
  }
});

test("rejects a misspelled session parameter instead of ignoring it", async (t) => {
  for (const extra of [
    "policy=%7B%7D",
    "Policyarns.member.1.arn=x",
    "PolicyArns.member.1.Arn=x",
    "PolicyArns.1.arn=x",
    "Tags.Member.1.Key=x",
    "Policy%00=x",
    "DurationSeconds%20=900",
  ]) {
    t.match(
      await attack.send(await attack.request({ body: `${ASSUME}&${extra}` })),
      { status: 400, code: "ValidationError", message: /is unknown/ },
      extra,
    );
  }
});

test("rejects a body that is not UTF-8, has 8,000 parameters, is too large or has a wrong content type", async (t) => {
  const many = Array.from({ length: 8_000 }, (_, i) => `x${i}=`).join("&");
  t.equal((await attack.send(await attack.request({ body: `Action=AssumeRole&${many}` }))).code, "ValidationError");
  const { headers } = await attack.request();
  const answer = await attack.sidecar.app.inject({
    method: "POST",
    url: "/sts",
    headers,
    payload: Buffer.from("Action=Assume\xff", "latin1"),
  });
  t.equal(elementOf(answer.body, "Code"), "ValidationError");
  t.equal(await attack.codeAfter(withHeaders({ "content-type": "application/json" })), "UnsupportedMediaType");
  t.equal((await attack.send(await attack.request({ body: "x".repeat(64 * 1024 + 1) }))).status, 413);
});

test("rejects a request that is not signed or whose action is unknown", async (t) => {
  const unsigned = { url: "/sts", headers: { host: HOST, "content-type": FORM } };
  t.match(await attack.send({ ...unsigned, payload: "Action=AssumeRoleWithWebIdentity&WebIdentityToken=x" }), {
    status: 403,
    code: "AccessDenied",
  });
  for (const action of [
    "AssumeRole",
    "GetCallerIdentity",
    "AssumeRoleWithSAML",
    "GetSessionToken",
    "__proto__",
    "constructor",
  ]) {
    t.match(
      await attack.send({ ...unsigned, payload: `Action=${action}` }),
      { status: 403, code: "MissingAuthenticationToken" },
      action,
    );
    if (!/^(AssumeRole|GetCallerIdentity)$/.test(action))
      t.equal(await attack.codeAfter(() => ({}), { body: `Action=${action}` }), "InvalidAction", action);
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
  t.ok(attack.sidecar.logLines.length > 10);
  t.notMatch(output, /planted|AWS4-HMAC-SHA256 Credential/);
});
