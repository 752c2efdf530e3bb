import { test } from "tap";
import { parseSTSEndpoint } from "../../../sidecar/sts-upstream/endpoint.ts";

test("the endpoint is https or loopback, and bare", (t) => {
  for (const good of ["https://sts.eu-west-1.amazonaws.com", "https://vpce-1.sts.eu-west-1.vpce.amazonaws.com:8443/path", "http://127.0.0.1:9782", "http://[::1]:9782", "http://localhost:1"]) {
    t.equal(parseSTSEndpoint(good).href.replace(/\/$/, ""), good);
  }
  for (const bad of ["http://sts.example", "http://169.254.170.2", "ftp://127.0.0.1", "https://planted-user:planted-password@sts.example", "https://sts.example?x=1", "https://sts.example/#x", "sts.example", ""]) {
    t.throws(() => parseSTSEndpoint(bad), {
      code: "ERR_CONFIG_INVALID",
      message: "--sts-endpoint must be an https URL, or http to a loopback address, without user, password, query or fragment.",
    }, bad);
  }
  t.end();
});
