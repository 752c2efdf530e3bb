import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import path from "node:path";
import { type Test, test } from "tap";
import {
  runCredentialProcess, type SendRequest, sendRequest, type SidecarResponse,
} from "../../cli/credential-process.ts";
import { boundAddress } from "../../shared/server/listen-address.ts";
import { readSettings } from "../../shared/server/read-settings.ts";
import { FakeClock } from "../sidecar/fake-clock.ts";
import { captureOutput, type CommandResult, runCommand } from "./run-command.ts";

const TOKEN = "planted-token-0123456789";
const BUCKET = "Bucket.v1alpha1.s3.services.k8s.aws";
const ROLE = "AWSClusterRoleIdentity";
const NOW = Date.parse("2026-08-01T12:00:00Z");
const SESSION = {
  AccessKeyId: "ASIATEAMA", SecretAccessKey: "planted-secret", Token: "planted-session", AccountId: "111122223333",
  Expiration: "2026-08-01T13:00:00Z",
};
const UNAVAILABLE = failed(503, "ERR_STS_UNAVAILABLE", "STS did not respond.");

function responded(body: object, status = 200): SidecarResponse {
  return { status, body: JSON.stringify(body) };
}

function failed(status: number, code: string, message: string): SidecarResponse {
  return responded({ code, message, Code: code, Message: message }, status);
}

/**
 * Runs `credential-process` on a fake clock. Each request gets the next response of the list. All later requests get
 * the last response of the list.
 */
async function run(
  t: Test, responses: readonly (SidecarResponse | Error | "hang")[], startMs = NOW,
): Promise<CommandResult & { readonly requests: number; readonly tookMs: number }> {
  const file = path.join(t.testdir({ token: TOKEN }), "token");
  const flags = { endpoint: "http://127.0.0.1:9780", selector: "team-a", tokenFile: file };
  const settings = readSettings("credential-process", flags, {});
  const clock = new FakeClock(startMs);
  let requests = 0;
  const send: SendRequest = async () => {
    const response = responses[Math.min(requests, responses.length - 1)];
    requests += 1;
    if (response === undefined || response === "hang") return await new Promise(() => {});
    if (response instanceof Error) throw response;
    return response;
  };
  const running = captureOutput((io) => runCredentialProcess(settings, io, { clock, send }));
  const progress = { done: false };
  void running.finally(() => (progress.done = true));
  // Reading the token file takes real time, during which the fake clock stands still.
  while (!progress.done && clock.now() - startMs < 60_000) await clock.advance(clock.scheduled > 0 ? 10 : 0);
  return { ...(await running), requests, tookMs: clock.now() - startMs };
}

test("prints the session as one line whose Expiration is 5 minutes before the true expiration", async (t) => {
  const { status, stdout, stderr, requests } = await run(t, [responded(SESSION)]);
  t.same({ status, stderr, requests }, { status: 0, stderr: "", requests: 1 });
  t.equal(stdout, `${JSON.stringify({
    Version: 1, AccessKeyId: "ASIATEAMA", SecretAccessKey: "planted-secret", SessionToken: "planted-session",
    Expiration: "2026-08-01T12:55:00Z", AccountId: "111122223333",
  })}\n`);
});

test("prints an Expiration that is at least 1 minute in the future", async (t) => {
  const { stdout } = await run(t, [responded({ ...SESSION, Expiration: "2026-08-01T12:02:00Z" })]);
  t.match(stdout, `"Expiration":"2026-08-01T12:01:00Z"`);
});

test("prints no session and names the missing field if the response is incomplete", async (t) => {
  for (const name of Object.keys(SESSION)) {
    for (const body of [{ ...SESSION, [name]: undefined }, { ...SESSION, [name]: "" }, { ...SESSION, [name]: 7 }]) {
      const { status, stdout, stderr } = await run(t, [responded(body)]);
      t.same({ status, stdout }, { status: 1, stdout: "" }, name);
      t.match(stderr, `The response does not contain ${name}.`);
      t.notMatch(stderr, /planted/);
    }
  }
});

test("prints no session if the response is not a JSON object or has expired", async (t) => {
  const half = JSON.stringify(SESSION).slice(0, -20);
  const ended = responded({ ...SESSION, Expiration: "2026-08-01T12:00:00Z" });
  const never = responded({ ...SESSION, Expiration: "never" });
  for (const response of [
    { status: 200, body: half },
    { status: 200, body: "null" },
    { status: 200, body: "" },
    ended,
    never,
  ]) {
    const { status, stdout, stderr, requests } = await run(t, [response]);
    t.same({ status, stdout, requests }, { status: 1, stdout: "", requests: 1 });
    t.match(stderr, /^ack-role-resolver: http:\/\/127\.0\.0\.1:9780: The response[^\n]*\n$/);
    t.notMatch(stderr, /planted/);
  }
});

test("prints the code and message of an error response and does not retry the request", async (t) => {
  for (const status of [400, 401, 403, 404, 409, 429, 500]) {
    const { requests, ...result } = await run(t, [
      failed(status, "ERR_SELECTOR_UNKNOWN", "No IAMRoleSelector team-a."),
    ]);
    t.match(result, {
      status: 1,
      stdout: "",
      stderr: "ack-role-resolver: http://127.0.0.1:9780: ERR_SELECTOR_UNKNOWN: No IAMRoleSelector team-a.\n",
    });
    t.equal(requests, 1, String(status));
  }
});

test("reports the HTTP status if the response is a redirect or comes from another server", async (t) => {
  for (const status of [204, 302, 307, 404]) {
    const { status: exit, stderr, requests } = await run(t, [{ status, body: `<html>${TOKEN}` }]);
    t.same({ exit, requests }, { exit: 1, requests: 1 });
    t.match(stderr, `responded with status ${status}`);
    t.notMatch(stderr, TOKEN);
  }
});

test("escapes control characters in an error message and redacts the token", async (t) => {
  const { stderr } = await run(t, [failed(403, "ERR_X", `\u001b[31m\n${TOKEN} ${"long".repeat(1000)}`)]);
  t.match(stderr, /^ack-role-resolver: [^\n]*ERR_X: \\u001b\[31m\\u000a\[token\] long[^\n]*\n$/);
  t.ok(stderr.length < 2_200);
});

test("retries after status 503 and prints the session of a later response", async (t) => {
  const { status, requests, tookMs } = await run(t, [UNAVAILABLE, UNAVAILABLE, responded(SESSION)]);
  t.same({ status, requests }, { status: 0, requests: 3 });
  t.ok(tookMs <= 400, `${tookMs} ms`);
});

test("waits until a restarting sidecar responds", async (t) => {
  const gone = Object.assign(new Error("connect"), { code: "ECONNREFUSED" });
  t.match(await run(t, [gone, gone, responded(SESSION)]), { status: 0, requests: 3 });
});

test("stops retrying within 5 s and reports the last error", async (t) => {
  const gone = Object.assign(new Error("connect"), { code: "ECONNREFUSED" });
  for (const [response, words] of [
    [UNAVAILABLE, "ERR_STS_UNAVAILABLE: STS did not respond."],
    [gone, "ECONNREFUSED"],
    ["hang", "no response within 1200 ms"],
  ] as const) {
    const { status, stdout, stderr, requests, tookMs } = await run(t, [response]);
    t.same({ status, stdout }, { status: 1, stdout: "" });
    t.match(stderr, words);
    t.ok(requests >= 3 && requests <= 10, `${requests} requests were sent`);
    t.ok(tookMs <= 5_000 && tookMs > 2_000, `${tookMs} ms`);
  }
});

/** Runs the command line against a test server on loopback. */
async function runAgainst(
  t: Test, serve: RequestListener, flags: readonly string[] = ["--selector", "team-a"], host = "127.0.0.1",
): Promise<CommandResult & { readonly requests: readonly IncomingMessage[] }> {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    serve(request, response);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  t.teardown(() => server.close());
  const file = path.join(t.testdir({ token: TOKEN }), "token");
  const result = await runWith(file, `http://${host}:${boundAddress(server).port}`, flags);
  return { ...result, requests };
}

function runWith(tokenFile: string, endpoint: string, flags: readonly string[]): Promise<CommandResult> {
  return runCommand(["credential-process", "--endpoint", endpoint, "--token-file", tokenFile, ...flags]);
}

const later = { ...SESSION, Expiration: "2126-08-01T13:00:00Z" };

test("sends the token, and the headers that the sidecar accepts", async (t) => {
  for (const host of ["127.0.0.1", "localhost"]) {
    const serve: RequestListener = (_request, response) => response.end(JSON.stringify(later));
    const { status, stdout, requests } = await runAgainst(t, serve, undefined, host);
    t.equal(status, 0);
    t.match(JSON.parse(stdout), { Version: 1, AccessKeyId: "ASIATEAMA" });
    t.match(requests.map(({ method, url }) => `${method} ${url}`), ["GET /v1/credentials/selectors/team-a"]);
    t.same(Object.keys(requests[0]?.headers ?? {}).toSorted(), ["accept", "authorization", "connection", "host"]);
    t.match(requests[0]?.headers, { authorization: TOKEN, host: new RegExp(`^${host}:\\d+$`) });
  }
});

test("requests the role of a resource by namespace, kind and labels", async (t) => {
  const flags = ["-n", "team-a", "--kind", BUCKET, "-l", "tier=gold", "-l", "example.com/a="];
  const { requests } = await runAgainst(t, (_request, response) => response.end(JSON.stringify(later)), flags);
  t.equal(
    requests[0]?.url,
    `/v1/credentials/namespaces/team-a?kind=${BUCKET}&label=tier%3Dgold&label=example.com%2Fa%3D`,
  );
});

test("requests the credentials of an identity of CAPA for a namespace", async (t) => {
  const flags = ["-n", "team-a", "--identity", `${ROLE}/a`];
  const { requests } = await runAgainst(t, (_request, response) => response.end(JSON.stringify(later)), flags);
  t.equal(requests[0]?.url, `/v1/credentials/identities/${ROLE}/a?namespace=team-a`);
});

test("does not follow an HTTP redirect", async (t) => {
  const serve: RequestListener = (_request, response) => response.writeHead(307, { location: "/elsewhere" }).end();
  const redirect = await runAgainst(t, serve);
  t.match(redirect, { status: 1, stdout: "", stderr: /status 307/ });
  t.equal(redirect.requests.length, 1);
});

test("rejects a response body larger than 64 KiB", async (t) => {
  const server = createServer((_request, response) => response.end(Buffer.alloc(65 * 1024, " ")));
  await once(server.listen(0, "127.0.0.1"), "listening");
  t.teardown(() => server.close());
  const url = new URL(`http://127.0.0.1:${boundAddress(server).port}/v1/credentials`);
  await t.rejects(sendRequest(url, TOKEN, new AbortController().signal), /larger than 65536 bytes/);
});

test("rejects an https endpoint if the server does not use TLS", async (t) => {
  const server = createServer((_request, response) => response.end());
  await once(server.listen(0, "127.0.0.1"), "listening");
  t.teardown(() => server.close());
  const url = new URL(`https://[::1]:${boundAddress(server).port}/v1/credentials`);
  await t.rejects(sendRequest(url, TOKEN, new AbortController().signal));
});

const UNUSED_ENDPOINT = "http://127.0.0.1:1";

test("exits 2 unless the flags name exactly one selector, resource or identity", async (t) => {
  const file = path.join(t.testdir({ token: TOKEN }), "token");
  const cases: readonly (readonly [flags: readonly string[], fault: string])[] = [
    [[], "--selector, --namespace: exactly one is required"],
    [["--selector", "a", "--namespace", "b", "--kind", BUCKET], "--selector, --namespace: exactly one is required"],
    [["--namespace", "a"], "--kind, --identity: exactly one is required with --namespace"],
    [["--namespace", "a", "--kind", BUCKET, "--kind", BUCKET], "--kind, --identity: exactly one is required"],
    [["--namespace", "a", "--kind", "Bucket"], `--kind "Bucket": expected KIND.GROUP`],
    [["--namespace", "a", "--kind", BUCKET, "-l", "tier"], `--label "tier": expected KEY=VALUE`],
    [["--namespace", "A", "--kind", BUCKET], "--namespace: expected a namespace name"],
    [["--selector", ".."], "--selector: expected an object name"],
    [["--selector", "a", "-l", "tier=gold"], "--kind, --label, --identity: allowed only with --namespace"],
    [["--namespace", "a", "--identity", `${ROLE}/a`, "--kind", BUCKET], "--kind, --identity: exactly one is required"],
    [["--namespace", "a", "--identity", `${ROLE}/a`, "-l", "a=b"], "--label: allowed only with --kind"],
    [["--namespace", "a", "--identity", `${ROLE}/../a`], "--identity: expected KIND/NAME of an identity of CAPA"],
  ];
  for (const [flags, fault] of cases) {
    const { status, stdout, stderr } = await runWith(file, UNUSED_ENDPOINT, flags);
    t.same({ status, stdout }, { status: 2, stdout: "" }, flags.join(" "));
    t.match(stderr, `ack-role-resolver: ${fault}`);
  }
  const { stderr: missing } = await runCommand(["credential-process", "--selector", "a"]);
  t.match(missing, /--endpoint: required[^]*--token-file: required/);
});

test("rejects an endpoint that is not a loopback address before it sends the token", async (t) => {
  const file = path.join(t.testdir({ token: TOKEN }), "token");
  const endpoints = [
    "http://169.254.169.254", "http://example.com", "http://127.0.0.1.example.com:9780",
    "http://127.0.0.1@example.com", "http://user:pass@127.0.0.1:9780", "ftp://127.0.0.1", "127.0.0.1:9780",
    "http://0.0.0.0:9780", "http://127.0.0.1:9780/v1", "http://127.0.0.1:9780?a", "http://127.0.0.1:99999", "",
  ];
  for (const endpoint of endpoints) {
    const { status, stdout, stderr } = await runWith(file, endpoint, ["--selector", "a"]);
    t.same({ status, stdout }, { status: 2, stdout: "" }, endpoint);
    t.match(stderr, /^ack-role-resolver: --endpoint: /, endpoint);
  }
});

test("the error for an unreadable token file names the user of the command, not the user of the sidecar", async (t) => {
  const { stderr } = await runWith(t.testdir({}), UNUSED_ENDPOINT, ["--selector", "a"]);
  t.match(stderr, /: the file cannot be read \(EISDIR\)\. Allow this user to read the file\.\n$/);
});

test("the error for an unreachable sidecar names --endpoint, but no flag of the sidecar", async (t) => {
  const { stderr } = await run(t, [Object.assign(new Error("connect"), { code: "ECONNREFUSED" })]);
  t.match(stderr, "Check that the sidecar is running, and that it listens on the address in --endpoint.\n");
});

test("rejects a missing or invalid token file without printing its content", async (t) => {
  const dir = t.testdir({
    empty: "", newline: "\n", ended: "planted-0123456789\n", spaces: "planted token", lines: "planted\ntoken",
    folder: {},
  });
  for (const name of ["absent", "empty", "newline", "ended", "spaces", "lines", "folder"]) {
    const { status, stdout, stderr } = await runWith(path.join(dir, name), UNUSED_ENDPOINT, ["--selector", "a"]);
    t.same({ status, stdout }, { status: 2, stdout: "" }, name);
    t.match(stderr, `ack-role-resolver: --token-file ${path.join(dir, name)}: `);
    t.notMatch(stderr, /planted/);
  }
});
