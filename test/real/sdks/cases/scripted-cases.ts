import { clientVariables, type Variables } from "../client.ts";
import { allSDKs, fails, succeeds, waits } from "./outcome.ts";
import { credentialsBody, type ScriptedResponse, startScriptedEndpoint } from "./scripted-endpoint.ts";
import type { Case } from "./sidecar-cases.ts";

const ERROR_BODY = {
  code: "ERR_SCRIPTED", message: "a scripted error", Code: "ERR_SCRIPTED", Message: "a scripted error",
};
const MOVED = "/elsewhere";

function scripted(
  respond: (target: string) => ScriptedResponse | "nothing", variables: (url: string) => Variables = fullURI,
): Case["setUp"] {
  return async (t) => {
    const home = t.testdir();
    const { url, requests } = await startScriptedEndpoint(t, respond);
    const token = { AWS_CONTAINER_AUTHORIZATION_TOKEN: "scripted" };
    return { variables: { ...clientVariables({ home }), ...token, ...variables(url) }, requests };
  };
}

function fullURI(url: string): Variables {
  return { AWS_CONTAINER_CREDENTIALS_FULL_URI: `${url}/credentials` };
}

function withExpiration(change: (text: string) => string): () => ScriptedResponse {
  return () => {
    const body = credentialsBody();
    return { body: { ...body, Expiration: change(body["Expiration"] ?? "") } };
  };
}

function without(...names: readonly string[]): () => ScriptedResponse {
  return () => {
    const fields = Object.entries(credentialsBody()).filter(([name]) => !names.includes(name));
    return { body: Object.fromEntries(fields) };
  };
}

function redirect(status: number): (target: string) => ScriptedResponse {
  const response = { status, headers: { location: MOVED }, body: {} };
  return (target) => (target === MOVED ? { body: credentialsBody() } : response);
}

/**
 * Responses that the sidecar never sends, because at least one SDK does not handle them correctly. Each case states the
 * behavior of each SDK.
 */
export const SCRIPTED_CASES: readonly Case[] = [
  {
    name: "an expiration that has the offset +00:00 and not Z",
    expected: {
      go: succeeds(1), botocore: succeeds(1), javascript: fails([1, 5]), java: succeeds(1),
      rust: fails(3, /timezone offsets/),
    },
    setUp: scripted(withExpiration((text) => text.replace("Z", "+00:00"))),
  },
  {
    name: "an expiration in nanoseconds",
    expected: allSDKs(succeeds(1)),
    setUp: scripted(withExpiration((text) => text.replace("Z", ".123456789Z"))),
  },
  {
    name: "no expiration",
    // The SDK for Java does not check whether the response contains `Expiration`.
    expected: {
      go: succeeds(1), botocore: fails([1, 3]), javascript: fails([1, 5]), java: fails(1, /NullPointerException/),
      rust: fails(3, /Expected field `Expiration`/),
    },
    setUp: scripted(without("Expiration")),
  },
  {
    name: "empty keys",
    expected: { go: succeeds(1), botocore: succeeds(1), javascript: succeeds(1), java: fails(1), rust: succeeds(1) },
    setUp: scripted(() => ({ body: { ...credentialsBody(), AccessKeyId: "", SecretAccessKey: "", Token: "" } })),
  },
  {
    name: "status 200 with a Code other than Success",
    expected: { ...allSDKs(succeeds(1)), rust: fails(1, /\[Failed\]/) },
    setUp: scripted(() => ({ body: { Code: "Failed", ...credentialsBody() } })),
  },
  {
    name: "status 429: Java and Rust do not retry the request",
    expected: { go: fails(3), botocore: fails(3), javascript: fails(5), java: fails(1), rust: fails(1) },
    setUp: scripted(() => ({ status: 429, body: ERROR_BODY })),
  },
  {
    name: "500",
    expected: { go: fails(3), botocore: fails(3), javascript: fails(5), java: fails(6), rust: fails(3) },
    setUp: scripted(() => ({ status: 500, body: ERROR_BODY })),
  },
  {
    name: "a 302 redirect: no SDK follows the redirect",
    expected: { go: fails(1), botocore: fails(3), javascript: fails(5), java: fails(1), rust: fails(1) },
    setUp: scripted(redirect(302)),
  },
  {
    name: "a 307 redirect: only Go follows the redirect",
    expected: { go: succeeds(2), botocore: fails(3), javascript: fails(5), java: fails(1), rust: fails(1) },
    setUp: scripted(redirect(307)),
  },
  {
    name: "an error whose content type has a charset: Go shows no error code",
    expected: {
      go: fails(1, /(?<!ERR_SCRIPTED: )\{"code":/), botocore: fails(3), javascript: fails(5), java: fails(1),
      rust: fails(1),
    },
    setUp: scripted(() => ({ status: 403, type: "application/json; charset=utf-8", body: ERROR_BODY })),
  },
  {
    name: "no response: Go and JavaScript wait without a time limit",
    expected: { go: waits(1), javascript: waits(1), botocore: waits([2, 3]), java: waits([3, 5]), rust: waits(1) },
    setUp: scripted(() => "nothing"),
  },
  {
    name: "five retrievals of credentials that expire in 4 minutes",
    retrievals: 5,
    // The SDK for Java requests new credentials within 15 minutes before the expiration, with jitter. The SDK for Rust
    // does so within 10 seconds before the expiration.
    expected: {
      go: succeeds(5), botocore: succeeds([5, 6]), javascript: succeeds([2, 5]), java: succeeds([1, 5]),
      rust: succeeds(1),
    },
    setUp: scripted(() => ({ body: credentialsBody(240_000) })),
  },
  {
    name: "five retrievals of credentials that expire in 14 minutes",
    retrievals: 5,
    expected: {
      go: succeeds(1), botocore: succeeds([5, 6]), javascript: succeeds(1), java: succeeds([1, 5]),
      rust: succeeds(1),
    },
    setUp: scripted(() => ({ body: credentialsBody(840_000) })),
  },
  {
    name: "an http endpoint that is not on loopback: no SDK calls the endpoint",
    expected: allSDKs(fails(0)),
    setUp: scripted(() => ({ body: credentialsBody() }), () => fullURI("http://192.0.2.1")),
  },
  {
    name: "a relative URI and a full URI: the relative URI takes precedence",
    // Runs only the SDK for Go, which uses a proxy. The other SDKs would call 169.254.170.2.
    expected: { go: succeeds(1) },
    setUp: scripted(() => ({ body: credentialsBody() }), (url) => ({
      AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: "/relative",
      AWS_CONTAINER_CREDENTIALS_FULL_URI: "http://127.0.0.1:1/full", HTTP_PROXY: url,
    })),
  },
];
