import { test } from "tap";
import { readSettings } from "../../../shared/server/read-settings.ts";
import { faultsOf } from "./settings-faults.ts";

test("the webhook requires the folder of its certificate, and verifies the host of --url", (t) => {
  const flags = { cluster: true, tlsDir: "tls" };
  for (const url of ["https://a.ns.svc", "https://10.0.0.1:8443/", "https://[fd00::1]:443"]) {
    t.match(readSettings("webhook", { ...flags, url }, {}), { url });
  }
  t.same(faultsOf("webhook", { cluster: true }), [
    "--tls-dir: required; create the folder with `ack-role-resolver certs make --dir DIR --host NAME`",
  ]);
  for (const host of ["*.ns.svc", "A.svc", "a..b", "https://a", "a:1:2", "-a", "1:2:3", "[:::1]", "[1::2::3]", "a/b"]) {
    for (const command of ["webhook", "manifests", "certs manage"] as const) {
      const [fault] = faultsOf(command, { ...(command === "webhook" && flags), url: `https://${host}` });
      t.equal(fault, "--url: expected https://HOST:PORT", `${command} ${host}`);
    }
  }
  t.end();
});

test("certs manage needs no flag in the namespace of the default installation", (t) => {
  t.match(readSettings("certs manage", {}, {}), {
    namespace: "ack-role-resolver", url: null, healthListen: "0.0.0.0:9444", kubeconfig: null,
  });
  t.match(faultsOf("certs manage", { namespace: "Platform" })[0], /^--namespace: expected a namespace name/);
  t.end();
});
