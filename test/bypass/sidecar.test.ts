// Attacks on the authentication of the sidecar. Each test expects a rejection. The attacker is a process in the Pod or
// a browser on the machine. The attacker knows the address, and in some tests the token or credentials of the
// controller.
import { test } from "tap";
import { HEADERS } from "../sidecar/sidecar-under-test.ts";
import { WHO } from "../sidecar/sts/signed-request.ts";
import { ASSUME, Attack } from "./attack.ts";

test("accepts the valid request on which the attacks in this file are based", async (t) => {
  t.equal(await new Attack().codeAfter(() => ({})), "ok");
  t.equal(await new Attack().codeAfter(() => ({}), { path: "/sts/", body: WHO }), "ok");
});

test("rejects a path that matches a route only after decoding or normalization", async (t) => {
  const wire = new Attack();
  t.equal(await wire.statusOverTCP(t, "/sts", await wire.request()), 200, "the unchanged path is accepted");
  const paths = [
    "/%73ts",
    "/st%73",
    "//sts",
    "/sts/..",
    "/./sts",
    "/sts/.",
    "/x/../sts",
    "/STS",
    "/sts%2f",
    "/sts//",
    "/sts;x",
    "/%EF%BD%93ts",
    "/sts%00",
    "/sts#",
    "http://127.0.0.1:9780/sts",
    "*",
  ];
  for (const path of paths) {
    t.equal(await wire.statusOverTCP(t, path, await wire.request()), 405, `${path}, signed as /sts`);
    const { headers } = await wire.request({ path });
    t.equal(
      await wire.statusOverTCP(t, path, { method: "POST", headers, payload: ASSUME }),
      405,
      `${path}, signed unchanged`,
    );
    const status = await wire.statusOverTCP(t, path, { method: "GET", headers: HEADERS, payload: "" });
    t.ok([403, 404].includes(status), `${path}, with the token: ${status}`);
  }
  t.same(wire.sidecar.stsCalls.length, 1);
});

test("checks the Host header and the token even if the path cannot be decoded", async (t) => {
  const { sidecar } = new Attack();
  for (const [headers, status] of [
    [{ ...HEADERS, host: "evil.example" }, 403],
    [{ ...HEADERS, authorization: "guess" }, 401],
    [HEADERS, 400],
  ] as const) {
    t.equal((await sidecar.get("/v1/credentials/%zz", headers)).statusCode, status);
    t.match(
      await sidecar.registry.metrics(),
      `ack_role_resolver_sidecar_requests_total{path="unknown",code="${status}"} 1`,
      "the rejection is counted",
    );
  }
});

test("rejects a path traversal in the name of a selector or namespace", async (t) => {
  const wire = new Attack();
  const names = [
    "selectors/..%2f..%2fcredentials",
    "namespaces/team-a%2f..",
    "selectors/%00",
    "selectors/team-a%0d%0ax",
    "namespaces/../../credentials",
    "selectors/../selectors/team-a",
    "./selectors/team-a",
    "selectors//team-a",
  ];
  for (const name of names) {
    const status = await wire.statusOverTCP(t, `/v1/credentials/${name}`, {
      method: "GET",
      headers: HEADERS,
      payload: "",
    });
    t.ok([400, 404].includes(status), `${name}: ${status}`);
  }
});
