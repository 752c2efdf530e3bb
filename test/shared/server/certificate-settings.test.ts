import { test } from "tap";
import { readSettings } from "../../../shared/server/settings.ts";
import { faultsOf } from "./settings-faults.ts";

test("the webhook requires either a folder or a Secret for its certificate", (t) => {
  const secret = { cluster: true, tlsSecret: "ack-role-resolver/tls" };
  t.match(readSettings("webhook", { ...secret, tlsHost: ["a.ns.svc,10.0.0.1", "fd00::1"] }, {}), {
    tlsDir: null, tlsSecret: "ack-role-resolver/tls", tlsHost: ["a.ns.svc", "10.0.0.1", "fd00::1"],
  });
  t.same(faultsOf("webhook", { ...secret, tlsDir: "d" }), [
    "--tls-dir, --tls-secret: exactly one is required; "
      + "create a folder with `ack-role-resolver certs make --dir DIR --host NAME`",
  ]);
  t.same(faultsOf("webhook", { from: ["m"], tlsSecret: "ns/tls" }), ["--tls-secret: requires --cluster"]);
  for (const tlsSecret of ["tls", "ns/", "/tls", "ns/tls/x", "Ns/tls", "ns/../tls", "n.s/tls"]) {
    const [fault] = faultsOf("webhook", { cluster: true, tlsSecret });
    t.match(fault, /^--tls-secret: expected NAMESPACE\/NAME of a Secret/, tlsSecret);
  }
  for (const host of ["*.ns.svc", "A.svc", "a..b", "https://a", "a:443", "-a", "1:2:3", ":::1", "1::2::3"]) {
    const [fault] = faultsOf("webhook", { ...secret, tlsHost: [host] });
    t.match(fault, /^--tls-host ".*": expected a DNS name in lowercase/, host);
  }
  t.end();
});
