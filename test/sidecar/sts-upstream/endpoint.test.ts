import { test } from "tap";
import { parseSTSEndpoint } from "../../../sidecar/sts-upstream/connection.ts";

test("accepts https and loopback endpoints, and rejects a user, password, query or fragment in the URL", (t) => {
  const goodEndpoints = [
    "https://sts.eu-west-1.amazonaws.com", "https://vpce-1.sts.eu-west-1.vpce.amazonaws.com:8443/path",
    "http://127.0.0.1:9782", "http://[::1]:9782", "http://localhost:1",
  ];
  for (const good of goodEndpoints) t.equal(parseSTSEndpoint(good).href.replace(/\/$/, ""), good);
  const badEndpoints = [
    "http://sts.example", "http://169.254.170.2", "ftp://127.0.0.1",
    "https://planted-user:planted-password@sts.example", "https://sts.example?x=1", "https://sts.example/#x",
    "sts.example", "",
  ];
  const message =
    "--sts-endpoint must be an https URL, or http to a loopback address, without user, password, query or fragment.";
  for (const bad of badEndpoints) {
    t.throws(() => parseSTSEndpoint(bad), { code: "ERR_CONFIG_INVALID", message }, bad);
  }
  t.end();
});
