import type { Case } from "./cases.ts";
import { clientVariables, type Variables } from "./client.ts";
import { everybody, fails, succeeds, waits } from "./outcome.ts";
import { type ScriptedAnswer, startScriptedEndpoint, wholeBody } from "./scripted-endpoint.ts";

const REFUSED = { code: "ERR_SCRIPTED", message: "a scripted refusal", Code: "ERR_SCRIPTED", Message: "a scripted refusal" };
const MOVED = "/elsewhere";

function scripted(answer: (target: string) => ScriptedAnswer | "nothing", variables: (url: string) => Variables = fullURI): Case["set"] {
  return async (t) => {
    const home = t.testdir();
    const { url, requests } = await startScriptedEndpoint(t, answer);
    return { variables: { ...clientVariables({ home }), AWS_CONTAINER_AUTHORIZATION_TOKEN: "scripted", ...variables(url) }, requests };
  };
}

function fullURI(url: string): Variables {
  return { AWS_CONTAINER_CREDENTIALS_FULL_URI: `${url}/credentials` };
}

function withExpiration(change: (text: string) => string): () => ScriptedAnswer {
  return () => {
    const body = wholeBody();
    return { body: { ...body, Expiration: change(body["Expiration"] ?? "") } };
  };
}

function without(...names: readonly string[]): () => ScriptedAnswer {
  return () => ({ body: Object.fromEntries(Object.entries(wholeBody()).filter(([name]) => !names.includes(name))) });
}

function redirect(status: number): (target: string) => ScriptedAnswer {
  return (target) => (target === MOVED ? { body: wholeBody() } : { status, headers: { location: MOVED }, body: {} });
}

/** What the sidecar never answers, and why: each pins what an SDK would make of it. */
export const SCRIPTED_CASES: readonly Case[] = [
  {
    name: "an expiration with an offset in place of Z",
    expected: { go: succeeds(1), botocore: succeeds(1), javascript: fails([1, 5]), java: succeeds(1), rust: fails(3, /timezone offsets/) },
    set: scripted(withExpiration((text) => text.replace("Z", "+00:00"))),
  },
  {
    name: "an expiration in nanoseconds",
    expected: everybody(succeeds(1)),
    set: scripted(withExpiration((text) => text.replace("Z", ".123456789Z"))),
  },
  {
    name: "no expiration",
    // That for Java forgets to look whether there is one.
    expected: {
      go: succeeds(1), botocore: fails([1, 3]), javascript: fails([1, 5]), java: fails(1, /NullPointerException/), rust: fails(3, /Expected field `Expiration`/),
    },
    set: scripted(without("Expiration")),
  },
  {
    name: "empty keys",
    expected: { go: succeeds(1), botocore: succeeds(1), javascript: succeeds(1), java: fails(1), rust: succeeds(1) },
    set: scripted(() => ({ body: { ...wholeBody(), AccessKeyId: "", SecretAccessKey: "", Token: "" } })),
  },
  {
    name: "200 with a Code that is not Success",
    expected: { ...everybody(succeeds(1)), rust: fails(1, /\[Failed\]/) },
    set: scripted(() => ({ body: { Code: "Failed", ...wholeBody() } })),
  },
  {
    name: "429, which Java and Rust do not repeat",
    expected: { go: fails(3), botocore: fails(3), javascript: fails(5), java: fails(1), rust: fails(1) },
    set: scripted(() => ({ status: 429, body: REFUSED })),
  },
  {
    name: "500",
    expected: { go: fails(3), botocore: fails(3), javascript: fails(5), java: fails(6), rust: fails(3) },
    set: scripted(() => ({ status: 500, body: REFUSED })),
  },
  {
    name: "a redirect by 302, which nobody follows",
    expected: { go: fails(1), botocore: fails(3), javascript: fails(5), java: fails(1), rust: fails(1) },
    set: scripted(redirect(302)),
  },
  {
    name: "a redirect by 307, which Go follows",
    expected: { go: succeeds(2), botocore: fails(3), javascript: fails(5), java: fails(1), rust: fails(1) },
    set: scripted(redirect(307)),
  },
  {
    name: "a refusal as application/json with a charset, of which Go shows no code",
    expected: { go: fails(1, /(?<!ERR_SCRIPTED: )\{"code":/), botocore: fails(3), javascript: fails(5), java: fails(1), rust: fails(1) },
    set: scripted(() => ({ status: 403, type: "application/json; charset=utf-8", body: REFUSED })),
  },
  {
    name: "no answer at all, which Go and JavaScript wait for without an end",
    expected: { go: waits(1), javascript: waits(1), botocore: waits([2, 3]), java: waits([3, 5]), rust: waits(1) },
    set: scripted(() => "nothing"),
  },
  {
    name: "five retrievals with 4 minutes left",
    retrievals: 5,
    // Whether Java asks again within 15 minutes of the end is left to chance, its jitter; Rust renews from 10 seconds before it.
    expected: { go: succeeds(5), botocore: succeeds([5, 6]), javascript: succeeds([2, 5]), java: succeeds([1, 5]), rust: succeeds(1) },
    set: scripted(() => ({ body: wholeBody(240_000) })),
  },
  {
    name: "five retrievals with 14 minutes left",
    retrievals: 5,
    expected: { go: succeeds(1), botocore: succeeds([5, 6]), javascript: succeeds(1), java: succeeds([1, 5]), rust: succeeds(1) },
    set: scripted(() => ({ body: wholeBody(840_000) })),
  },
  {
    name: "another host over http, which nobody asks",
    expected: everybody(fails(0)),
    set: scripted(() => ({ body: wholeBody() }), () => ({ AWS_CONTAINER_CREDENTIALS_FULL_URI: "http://192.0.2.1/credentials" })),
  },
  {
    name: "a relative URI beside the full one, which it wins over",
    // The others would leave this machine for 169.254.170.2; Go asks its proxy.
    expected: { go: succeeds(1) },
    set: scripted(() => ({ body: wholeBody() }), (url) => ({
      AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: "/relative", AWS_CONTAINER_CREDENTIALS_FULL_URI: "http://127.0.0.1:1/full", HTTP_PROXY: url,
    })),
  },
];
