import { clientVariables } from "../client.ts";
import { fails, succeeds, waits } from "./outcome.ts";
import { credentialsBody, type ScriptedResponse, startScriptedEndpoint } from "./scripted-endpoint.ts";
import type { Case } from "./sidecar-cases.ts";

const ERROR_BODY = {
  code: "ERR_SCRIPTED", message: "a scripted error", Code: "ERR_SCRIPTED", Message: "a scripted error",
};

/** Starts a server that sends the response to each request. */
function scripted(respond: () => ScriptedResponse | "nothing"): Case["setUp"] {
  return async (t) => {
    const home = t.testdir();
    const { url, requests } = await startScriptedEndpoint(t, respond);
    const variables = {
      ...clientVariables({ home }), AWS_CONTAINER_AUTHORIZATION_TOKEN: "scripted",
      AWS_CONTAINER_CREDENTIALS_FULL_URI: `${url}/credentials`,
    };
    return { variables, requests };
  };
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
    setUp: scripted(() => {
      const body = credentialsBody();
      return { body: { ...body, Expiration: body["Expiration"]?.replace("Z", "+00:00") } };
    }),
  },
  {
    name: "no expiration",
    // The SDK for Java does not check whether the response contains `Expiration`.
    expected: {
      go: succeeds(1), botocore: fails([1, 3]), javascript: fails([1, 5]), java: fails(1, /NullPointerException/),
      rust: fails(3, /Expected field `Expiration`/),
    },
    setUp: scripted(() => {
      const { Expiration: _gone, ...body } = credentialsBody();
      return { body };
    }),
  },
  {
    name: "status 429: Java and Rust do not retry the request",
    expected: { go: fails(3), botocore: fails(3), javascript: fails(5), java: fails(1), rust: fails(1) },
    setUp: scripted(() => ({ status: 429, body: ERROR_BODY })),
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
    name: "five retrievals of credentials that expire in 14 minutes",
    retrievals: 5,
    expected: {
      go: succeeds(1), botocore: succeeds([5, 6]), javascript: succeeds(1), java: succeeds([1, 5]),
      rust: succeeds(1),
    },
    setUp: scripted(() => ({ body: credentialsBody(840_000) })),
  },
];
