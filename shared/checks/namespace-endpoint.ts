import { ENDPOINT_URL_ANNOTATION } from "../contract/annotation-keys.ts";
import { annotationPath } from "../formats/json.ts";
import { quote } from "../formats/text.ts";
import type { Fault, QuickCheck } from "./check.ts";
import { annotationOf, type NamespaceChange } from "./namespace-change.ts";

const PATH = annotationPath(ENDPOINT_URL_ANNOTATION);

/** Splits a URI into its parts: https://www.rfc-editor.org/rfc/rfc3986#appendix-B. */
const URI = /^([A-Za-z][A-Za-z0-9+.-]*):\/\/([^/?#]*)([^?#]*)(\?[^#]*)?(#.*)?$/s;
export const HOST_AND_PORT = /^(([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?)|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?$/;
export const PATH_CHARACTERS = /^[A-Za-z0-9/._~!$&'()*+,;=:@%-]*$/;

export const NS_08: QuickCheck<NamespaceChange> = {
  id: "NS-08",
  severity: "deny",
  waivable: false,
  reason: "Controllers do not validate the endpoint URL, and send all AWS requests of the namespace to this URL. "
    + "These requests include signed AssumeRole calls, which contain a session token.",
  fix: "set https://HOST or https://HOST:PORT, without credentials or a query",
  example: "metadata: {annotations: {services.k8s.aws/endpoint-url: 'http://minio.team-a.svc'}}",
  *find({ state }): Iterable<Fault> {
    const url = annotationOf(state, ENDPOINT_URL_ANNOTATION);
    if (url === "") return;
    // Messages quote only the scheme and the host, because the URL may contain a password.
    for (const message of endpointFaults(url)) yield { path: PATH, message };
  },
};

function endpointFaults(url: string): string[] {
  const parts = URI.exec(url);
  if (parts === null) return ["the endpoint is not a URL"];
  const [, scheme = "", authority = "", path = "", query, fragment] = parts;
  const host = hostAndPortOf(authority);
  const protocol = scheme.toLowerCase();
  const faults: readonly (readonly [isFault: boolean, message: string])[] = [
    [protocol !== "https", `the endpoint uses ${protocol}, not https, so anyone on the network path can read the `
      + "requests"],
    [host !== authority, "the endpoint contains credentials, which every reader of the namespace can see"],
    [!HOST_AND_PORT.test(host), `the endpoint has no valid host: ${quote(host)}`],
    [(query ?? fragment) !== undefined, "the endpoint has a query or a fragment, which AWS endpoints do not have"],
    [!PATH_CHARACTERS.test(path), "the path of the endpoint has characters that are not allowed in a URL"],
  ];
  return faults.filter(([isFault]) => isFault).map(([, message]) => message);
}

/** Returns `HOST` or `HOST:PORT`: the authority without its credentials. */
function hostAndPortOf(authority: string): string {
  return authority.slice(authority.lastIndexOf("@") + 1);
}

export const NS_08B: QuickCheck<NamespaceChange> = {
  id: "NS-08b",
  severity: "deny",
  waivable: false,
  reason: "The operator of the endpoint sees every request of the controllers and can return any response. "
    + "Allow only hosts that you trust.",
  fix: "use a host that --allowed-endpoint-hosts lists, or add the host to that flag",
  example: "metadata: {annotations: {services.k8s.aws/endpoint-url: 'https://collector.example.net'}}",
  requires: ["--allowed-endpoint-hosts"],
  *find({ settings: { allowedEndpointHosts }, state }): Iterable<Fault> {
    const [, , authority] = URI.exec(annotationOf(state, ENDPOINT_URL_ANNOTATION)) ?? [];
    if (authority === undefined) return;
    const hostAndPort = hostAndPortOf(authority).toLowerCase();
    const host = hostAndPort.replace(/:[0-9]*$/, "");
    const allowed = new Set(allowedEndpointHosts.map((entry) => entry.toLowerCase()));
    if (allowed.has(host) || allowed.has(hostAndPort)) return;
    const hosts = allowedEndpointHosts.join(", ");
    yield { path: PATH, message: `the endpoint host ${quote(host)} is not one of the allowed hosts ${hosts}` };
  },
};
