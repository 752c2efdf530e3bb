import { test } from "tap";
import { annotationLines } from "../subjects.ts";

const PATH = "metadata.annotations[services.k8s.aws/endpoint-url]";
const FIX = "Write https://HOST or https://HOST:PORT, without credentials or a query.";

function lines(url: string): string[] {
  return annotationLines("NS-08", { "services.k8s.aws/endpoint-url": url });
}

const refused = (...messages: readonly string[]): string[] => messages.map((message) => `deny NS-08 ${PATH}: ${message}. ${FIX}`);

test("NS-08: an endpoint is reached by https, at a host", (t) => {
  t.same(lines("http://minio.team-a.svc:9000"), refused("the endpoint is reached by http, not https, so anyone on the way reads what is sent"));
  t.same(lines("HTTP://minio"), refused("the endpoint is reached by http, not https, so anyone on the way reads what is sent"));
  t.same(lines("minio.team-a.svc"), refused("the endpoint is not a URL"));
  t.same(lines("https://"), refused('the endpoint names no host: ""'));
  t.same(lines("https://a b"), refused('the endpoint names no host: "a b"'));
  t.same(lines("https://host:port"), refused('the endpoint names no host: "host:port"'));
  for (const url of ["https://vpce-1.s3.eu-west-1.vpce.amazonaws.com", "https://minio:9000", "HTTPS://minio/base/path", "https://[fd00::1]:443", "https://10.0.0.1", ""]) {
    t.same(lines(url), [], url);
  }
  t.end();
});

test("NS-08: an endpoint has no credentials, no query, no fragment, and no message shows them", (t) => {
  const credentials = "the endpoint holds credentials, which everybody who reads the namespace sees";
  t.same(lines("https://root:hunter2@minio"), refused(credentials));
  t.same(lines("https://minio@evil.example.net"), refused(credentials));
  t.same(lines("https://a@b@c"), refused(credentials));
  t.same(lines("https://minio/?key=hunter2"), refused("the endpoint has a query or a fragment, which no AWS endpoint has"));
  t.same(lines("https://minio#x"), refused("the endpoint has a query or a fragment, which no AWS endpoint has"));
  t.same(lines("https://minio/a\nb"), refused("the endpoint's path has characters that no URL may have"));
  t.same(lines("ftp://root:hunter2@?key=hunter2").length, 4);
  for (const line of lines("ftp://root:hunter2@?key=hunter2")) t.notMatch(line, "hunter2");
  t.end();
});

test("NS-08b: only the hosts that are allowed, where any are named", (t) => {
  const of = (url: string, allowedEndpointHosts: readonly string[] = ["minio.example.com", "s3.internal:8443"]): string[] => (
    annotationLines("NS-08b", { "services.k8s.aws/endpoint-url": url }, { settings: { allowedEndpointHosts } })
  );
  const refusal = (host: string): string[] => [
    `deny NS-08b ${PATH}: the endpoint is on "${host}", which is not among the allowed hosts minio.example.com, s3.internal:8443. Name one of the hosts of --allowed-endpoint-hosts, or have the host added there.`,
  ];
  t.same(of("https://collector.example.net"), refusal("collector.example.net"));
  t.same(of("https://minio.example.com@collector.example.net"), refusal("collector.example.net"));
  t.same(of("https://minio.example.com.evil.net"), refusal("minio.example.com.evil.net"));
  t.same(of("https://s3.internal:9000"), refusal("s3.internal"), "another port");
  for (const url of ["https://MINIO.example.com", "https://minio.example.com:9000/x", "https://s3.internal:8443", "nonsense", ""]) t.same(of(url), [], url);
  t.same(of("https://collector.example.net", []), [], "where no host is named any may be");
  t.end();
});
