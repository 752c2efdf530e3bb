import { ENDPOINT_URL_ANNOTATION } from "../../annotation-keys.ts";
import { annotationPath } from "../../kubernetes/field-path.ts";
import { quote } from "../../kubernetes/text.ts";
import type { Fault, QuickCheck } from "../check.ts";
import { annotated, type NamespaceChange } from "./change.ts";

const PATH = annotationPath(ENDPOINT_URL_ANNOTATION);

/** The parts of a URI: https://www.rfc-editor.org/rfc/rfc3986#appendix-B. */
const URI = /^([A-Za-z][A-Za-z0-9+.-]*):\/\/([^/?#]*)([^?#]*)(\?[^#]*)?(#.*)?$/s;
const PLACE = /^(([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?)|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?$/;
const PATH_CHARACTERS = /^[A-Za-z0-9/._~!$&'()*+,;=:@%-]*$/;

export const NS_08: QuickCheck<NamespaceChange> = {
  id: "NS-08",
  severity: "deny",
  waivable: false,
  reason: "Controllers send the namespace's requests to this address unchecked, and their signed AssumeRole calls with their session token too.",
  fix: "write https://HOST or https://HOST:PORT, without credentials or a query",
  example: "metadata: {annotations: {services.k8s.aws/endpoint-url: 'http://minio.team-a.svc'}}",
  *find({ state }): Iterable<Fault> {
    const url = annotated(state, ENDPOINT_URL_ANNOTATION);
    if (url === "") return;
    // The URL itself may hold a password: only its harmless parts are told.
    for (const message of endpointFaults(url)) yield { path: PATH, message };
  },
};

function endpointFaults(url: string): string[] {
  const parts = URI.exec(url);
  if (parts === null) return ["the endpoint is not a URL"];
  const [, scheme = "", authority = "", path = "", query, fragment] = parts;
  const place = placeOf(authority);
  const faults: readonly (readonly [isFault: boolean, message: string])[] = [
    [scheme.toLowerCase() !== "https", `the endpoint is reached by ${scheme.toLowerCase()}, not https, so anyone on the way reads what is sent`],
    [place !== authority, "the endpoint holds credentials, which everybody who reads the namespace sees"],
    [!PLACE.test(place), `the endpoint names no host: ${quote(place)}`],
    [query !== undefined || fragment !== undefined, "the endpoint has a query or a fragment, which no AWS endpoint has"],
    [!PATH_CHARACTERS.test(path), "the endpoint's path has characters that no URL may have"],
  ];
  return faults.filter(([isFault]) => isFault).map(([, message]) => message);
}

/** The authority without its credentials: `HOST` or `HOST:PORT`. */
function placeOf(authority: string): string {
  return authority.slice(authority.lastIndexOf("@") + 1);
}

export const NS_08B: QuickCheck<NamespaceChange> = {
  id: "NS-08b",
  severity: "deny",
  waivable: false,
  reason: "Whoever runs the endpoint sees what the controllers send, and can answer as it likes: only hosts that are trusted may be named.",
  fix: "name one of the hosts of --allowed-endpoint-hosts, or have the host added there",
  example: "metadata: {annotations: {services.k8s.aws/endpoint-url: 'https://collector.example.net'}}",
  requires: ["--allowed-endpoint-hosts"],
  *find({ settings: { allowedEndpointHosts }, state }): Iterable<Fault> {
    const [, , authority] = URI.exec(annotated(state, ENDPOINT_URL_ANNOTATION)) ?? [];
    if (authority === undefined) return;
    const place = placeOf(authority).toLowerCase();
    const host = place.replace(/:[0-9]*$/, "");
    const allowed = new Set(allowedEndpointHosts.map((one) => one.toLowerCase()));
    if (allowed.has(host) || allowed.has(place)) return;
    yield { path: PATH, message: `the endpoint is on ${quote(host)}, which is not among the allowed hosts ${allowedEndpointHosts.join(", ")}` };
  },
};
