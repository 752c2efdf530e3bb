import { test } from "tap";
import { annotationLines } from "../subjects.ts";

const PATH = "metadata.annotations[services.k8s.aws/endpoint-url]";
const FIX = "Set https://HOST or https://HOST:PORT, without credentials or a query.";

function lines(url: string): string[] {
  return annotationLines("NS-08", { "services.k8s.aws/endpoint-url": url });
}

function denied(...messages: readonly string[]): string[] {
  return messages.map((message) => `deny NS-08 ${PATH}: ${message}. ${FIX}`);
}

test("NS-08 denies an endpoint URL that does not use https or has an invalid host", (t) => {
  const plaintext = "the endpoint uses http, not https, so anyone on the network path can read the requests";
  t.same(lines("http://minio.team-a.svc:9000"), denied(plaintext));
  t.same(lines("HTTP://minio"), denied(plaintext));
  t.same(lines("minio.team-a.svc"), denied("the endpoint is not a URL"));
  t.same(lines("https://"), denied('the endpoint has no valid host: ""'));
  t.same(lines("https://a b"), denied('the endpoint has no valid host: "a b"'));
  t.same(lines("https://host:port"), denied('the endpoint has no valid host: "host:port"'));
  const valid = [
    "https://vpce-1.s3.eu-west-1.vpce.amazonaws.com", "https://minio:9000", "HTTPS://minio/base/path",
    "https://[fd00::1]:443", "https://10.0.0.1", "",
  ];
  for (const url of valid) t.same(lines(url), [], url);
  t.end();
});

test("NS-08 denies credentials, a query or a fragment in the endpoint URL, and never quotes their values", (t) => {
  const credentials = "the endpoint contains credentials, which every reader of the namespace can see";
  const query = "the endpoint has a query or a fragment, which AWS endpoints do not have";
  t.same(lines("https://root:hunter2@minio"), denied(credentials));
  t.same(lines("https://minio@evil.example.net"), denied(credentials));
  t.same(lines("https://a@b@c"), denied(credentials));
  t.same(lines("https://minio/?key=hunter2"), denied(query));
  t.same(lines("https://minio#x"), denied(query));
  t.same(lines("https://minio/a\nb"), denied("the path of the endpoint has characters that are not allowed in a URL"));
  t.same(lines("ftp://root:hunter2@?key=hunter2").length, 4);
  for (const line of lines("ftp://root:hunter2@?key=hunter2")) t.notMatch(line, "hunter2");
  t.end();
});

test("NS-08b denies a host that is not in --allowed-endpoint-hosts", (t) => {
  const linesFor = (
    url: string,
    allowedEndpointHosts: readonly string[] = ["minio.example.com", "s3.internal:8443"],
  ): string[] =>
    annotationLines("NS-08b", { "services.k8s.aws/endpoint-url": url }, { settings: { allowedEndpointHosts } });
  const denial = (host: string): string[] => [
    `deny NS-08b ${PATH}: the endpoint host "${host}" is not one of the allowed hosts minio.example.com, `
    + "s3.internal:8443. "
    + "Use a host that --allowed-endpoint-hosts lists, or add the host to that flag.",
  ];
  t.same(linesFor("https://collector.example.net"), denial("collector.example.net"));
  t.same(linesFor("https://minio.example.com@collector.example.net"), denial("collector.example.net"));
  t.same(linesFor("https://minio.example.com.evil.net"), denial("minio.example.com.evil.net"));
  t.same(linesFor("https://s3.internal:9000"), denial("s3.internal"), "another port");
  const allowed = [
    "https://MINIO.example.com", "https://minio.example.com:9000/x", "https://s3.internal:8443", "nonsense", "",
  ];
  for (const url of allowed) t.same(linesFor(url), [], url);
  t.same(linesFor("https://collector.example.net", []), [], "without the flag every host is allowed");
  t.end();
});
