import { test } from "tap";
import { readSettings } from "../../../shared/server/settings.ts";
import { faultsOf } from "./settings-faults.ts";

test("the webhook requires the folder of its certificate, and verifies the names of --tls-host", (t) => {
  const flags = { cluster: true, tlsDir: "tls" };
  const tlsHost = ["a.ns.svc", "10.0.0.1", "fd00::1"];
  t.match(readSettings("webhook", { ...flags, tlsHost: ["a.ns.svc,10.0.0.1", "fd00::1"] }, {}), { tlsHost });
  t.same(faultsOf("webhook", { cluster: true }), [
    "--tls-dir: required; create the folder with `ack-role-resolver certs make --dir DIR --host NAME`",
  ]);
  for (const host of ["*.ns.svc", "A.svc", "a..b", "https://a", "a:443", "-a", "1:2:3", ":::1", "1::2::3"]) {
    const [fault] = faultsOf("webhook", { ...flags, tlsHost: [host] });
    t.match(fault, /^--tls-host ".*": expected a DNS name in lowercase/, host);
  }
  t.end();
});

test("certs manage needs no flag in the namespace of the default installation", (t) => {
  t.match(readSettings("certs manage", {}, {}), {
    namespace: "ack-role-resolver", tlsHost: [], healthListen: "0.0.0.0:9444", kubeconfig: null,
  });
  t.match(faultsOf("certs manage", { namespace: "Platform" })[0], /^--namespace: expected a namespace name/);
  t.end();
});
