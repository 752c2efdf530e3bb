import { test } from "tap";
import { testRows } from "../rows.ts";
import { namespaceObject } from "../objects.ts";
import { annotationLines, checkChange } from "../core/findings.ts";

const PATH = "metadata.annotations[services.k8s.aws/endpoint-url]";
const lines = (url: string): string[] => annotationLines("NS-08", { "services.k8s.aws/endpoint-url": url });
const FIX = "Set https://HOST or https://HOST:PORT, without credentials or a query";
const denied = (message: string, fix = FIX): string => `deny NS-08 ${PATH}: ${message}. ${fix}.`;
const written = (message: string, url: string): string => denied(message, `Write "${url}"`);
const noHost = (host: string): string => denied(`the endpoint has no valid host: "${host}"`);
const PLAINTEXT = "the endpoint uses http, not https, so anyone on the network path can read the requests";
const CREDENTIALS = "the endpoint contains credentials, which every reader of the namespace can see";
const QUERY = "the endpoint has a query or a fragment, which AWS endpoints do not have";
const VALID = [
  "https://vpce-1.s3.eu-west-1.vpce.amazonaws.com", "https://minio:9000", "HTTPS://minio/base/path",
  "https://[fd00::1]:443", "https://10.0.0.1", "",
];

testRows("NS-08 denies an endpoint URL without https or a valid host, or with credentials or a query", lines, [
  ["http", "http://minio.team-a.svc:9000", written(PLAINTEXT, "https://minio.team-a.svc:9000")],
  ["upper case", "HTTP://minio", written(PLAINTEXT, "https://minio")],
  ["no URL", "minio.team-a.svc", written("the endpoint is not a URL", "https://minio.team-a.svc")],
  ["no host", "https://", noHost("")],
  ["a space", "https://a b", noHost("a b")],
  ["a port that is not a number", "https://host:port", noHost("host:port")],
  ["a password", "https://root:hunter2@minio", written(CREDENTIALS, "https://minio")],
  ["a user", "https://minio@evil.example.net", denied(CREDENTIALS)],
  ["two users", "https://a@b@c", denied(CREDENTIALS)],
  ["a query", "https://minio/?key=hunter2", written(QUERY, "https://minio/")],
  ["a fragment", "https://minio#x", written(QUERY, "https://minio")],
  ["a line break", "https://minio/a\nb",
    denied("the path of the endpoint has characters that are not allowed in a URL")],
  ...VALID.map((url) => [url, url] as const),
]);

test("NS-08 reports every fault, and never quotes credentials", (t) => {
  const found = lines("ftp://root:hunter2@?key=hunter2");
  t.equal(found.length, 4);
  t.notMatch(found.join("\n"), "hunter2");
  t.end();
});

const notAllowed = (host: string): string => `deny NS-08 ${PATH}: the endpoint host "${host}" is not one of the `
  + "allowed hosts minio.example.com, s3.internal:8443. Use a host that --allowed-endpoint-hosts lists, or add the "
  + "host to that flag.";
const HOSTS = ["minio.example.com", "s3.internal:8443"];
const ALLOWED = [
  "https://MINIO.example.com", "https://minio.example.com:9000/x", "https://s3.internal:8443", "",
];
testRows("NS-08 denies a host that is not in --allowed-endpoint-hosts",
  ([url, allowedEndpointHosts = HOSTS]: readonly [string, string[]?]) =>
    annotationLines("NS-08", { "services.k8s.aws/endpoint-url": url }, { settings: { allowedEndpointHosts } }), [
    ["another host", ["https://collector.example.net"], notAllowed("collector.example.net")],
    ["a misspelled host", ["https://minio.exampel.com:9000/x"], notAllowed("minio.exampel.com")],
    ["a subdomain", ["https://minio.example.com.evil.net"], notAllowed("minio.example.com.evil.net")],
    ["another port", ["https://s3.internal:9000"], notAllowed("s3.internal")],
    ...ALLOWED.map((url) => [url, [url]] as const),
    ["without the flag every host is allowed", ["https://collector.example.net", []]],
  ]);

test("NS-08 reports that no hosts were compared, unless --allowed-endpoint-hosts lists some", (t) => {
  const needs = (allowedEndpointHosts: readonly string[]): string[] => (
    checkChange(namespaceObject("team-a"), { settings: { allowedEndpointHosts } }).skipped
      .filter(({ code }) => code === "NS-08").map((skipped) => skipped.needs)
  );
  t.same(needs([]), ["--allowed-endpoint-hosts"]);
  t.same(needs(HOSTS), []);
  t.end();
});
