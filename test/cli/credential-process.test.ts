import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import path from "node:path";
import { type Test, test } from "tap";
import { type AskSidecar, askSidecar, runCredentialProcess, type SidecarAnswer } from "../../cli/credential-process.ts";
import { boundAddress } from "../../shared/server/listen-address.ts";
import { readSettings } from "../../shared/server/settings.ts";
import { FakeClock } from "../sidecar/fake-clock.ts";
import { captured, type Ran, runCommand } from "./run-command.ts";

const TOKEN = "planted-token-0123456789";
const BUCKET = "Bucket.v1alpha1.s3.services.k8s.aws";
const NOW = Date.parse("2026-08-01T12:00:00Z");
const SESSION = {
  AccessKeyId: "ASIATEAMA", SecretAccessKey: "planted-secret", Token: "planted-session", AccountId: "111122223333", Expiration: "2026-08-01T13:00:00Z",
};
const UNAVAILABLE = refused(503, "ERR_STS_UNAVAILABLE", "STS has not answered; ask again.");

function answered(body: object, status = 200): SidecarAnswer {
  return { status, body: JSON.stringify(body) };
}

function refused(status: number, code: string, message: string): SidecarAnswer {
  return answered({ code, message, Code: code, Message: message }, status);
}

/** Runs the command against answers that come one after another, the last for ever, on a clock that moves by itself. */
async function run(t: Test, answers: readonly (SidecarAnswer | Error | "hang")[], startMs = NOW): Promise<Ran & { readonly asked: number; readonly tookMs: number }> {
  const file = path.join(t.testdir({ token: TOKEN }), "token");
  const settings = readSettings("credential-process", { endpoint: "http://127.0.0.1:9780", selector: "team-a", tokenFile: file }, {});
  const clock = new FakeClock(startMs);
  let asked = 0;
  const ask: AskSidecar = async () => {
    const answer = answers[Math.min(asked, answers.length - 1)];
    asked += 1;
    if (answer === undefined || answer === "hang") return await new Promise(() => {});
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const running = captured((io) => runCredentialProcess(settings, io, { clock, ask }));
  const progress = { done: false };
  void running.finally(() => (progress.done = true));
  // Files are read in real time, while none passes here.
  while (!progress.done && clock.now() - startMs < 60_000) await clock.advance(clock.scheduled > 0 ? 10 : 0);
  return { ...(await running), asked, tookMs: clock.now() - startMs };
}

test("a session is printed whole, on one line, as ending 5 minutes early", async (t) => {
  const { status, stdout, stderr, asked } = await run(t, [answered(SESSION)]);
  t.same({ status, stderr, asked }, { status: 0, stderr: "", asked: 1 });
  t.equal(stdout, `${JSON.stringify({
    Version: 1, AccessKeyId: "ASIATEAMA", SecretAccessKey: "planted-secret", SessionToken: "planted-session", Expiration: "2026-08-01T12:55:00Z", AccountId: "111122223333",
  })}\n`);
});

test("a session about to end is printed as ending in a minute", async (t) => {
  const { stdout } = await run(t, [answered({ ...SESSION, Expiration: "2026-08-01T12:02:00Z" })]);
  t.match(stdout, `"Expiration":"2026-08-01T12:01:00Z"`);
});

test("an answer in which anything is missing or empty prints nothing, and names the field", async (t) => {
  for (const name of Object.keys(SESSION)) {
    for (const answer of [{ ...SESSION, [name]: undefined }, { ...SESSION, [name]: "" }, { ...SESSION, [name]: 7 }]) {
      const { status, stdout, stderr } = await run(t, [answered(answer)]);
      t.same({ status, stdout }, { status: 1, stdout: "" }, name);
      t.match(stderr, `${name} missing`);
      t.notMatch(stderr, /planted/);
    }
  }
});

test("an answer that is no JSON, no object, or has ended prints nothing", async (t) => {
  const half = JSON.stringify(SESSION).slice(0, -20);
  const ended = answered({ ...SESSION, Expiration: "2026-08-01T12:00:00Z" });
  const never = answered({ ...SESSION, Expiration: "never" });
  for (const answer of [{ status: 200, body: half }, { status: 200, body: "null" }, { status: 200, body: "" }, ended, never]) {
    const { status, stdout, stderr, asked } = await run(t, [answer]);
    t.same({ status, stdout, asked }, { status: 1, stdout: "", asked: 1 });
    t.match(stderr, /^ack-role-resolver: http:\/\/127\.0\.0\.1:9780: The answer[^\n]*\n$/);
    t.notMatch(stderr, /planted/);
  }
});

test("a refusal is told with its code and message and never asked for again", async (t) => {
  for (const status of [400, 401, 403, 404, 409, 429, 500]) {
    const { asked, ...ran } = await run(t, [refused(status, "ERR_SELECTOR_UNKNOWN", "No IAMRoleSelector team-a.")]);
    t.match(ran, { status: 1, stdout: "", stderr: "ack-role-resolver: http://127.0.0.1:9780: ERR_SELECTOR_UNKNOWN: No IAMRoleSelector team-a.\n" });
    t.equal(asked, 1, String(status));
  }
});

test("an answer of another server is told by its status, a redirect too", async (t) => {
  for (const status of [204, 302, 307, 404]) {
    const { status: exit, stderr, asked } = await run(t, [{ status, body: `<html>${TOKEN}` }]);
    t.same({ exit, asked }, { exit: 1, asked: 1 });
    t.match(stderr, `answered with status ${status}`);
    t.notMatch(stderr, TOKEN);
  }
});

test("what a server says cannot write to the terminal, break the line or repeat the token", async (t) => {
  const { stderr } = await run(t, [refused(403, "ERR_X", `\u001b[31m\n${TOKEN} ${"long".repeat(1000)}`)]);
  t.match(stderr, /^ack-role-resolver: [^\n]*ERR_X: \\u001b\[31m\\u000a\[token\] long[^\n]*\n$/);
  t.ok(stderr.length < 2_200);
});

test("STS trouble is asked for again, and what comes then is printed", async (t) => {
  const { status, asked, tookMs } = await run(t, [UNAVAILABLE, UNAVAILABLE, answered(SESSION)]);
  t.same({ status, asked }, { status: 0, asked: 3 });
  t.ok(tookMs <= 400, `${tookMs} ms`);
});

test("a sidecar that restarts is waited for", async (t) => {
  const gone = Object.assign(new Error("connect"), { code: "ECONNREFUSED" });
  t.match(await run(t, [gone, gone, answered(SESSION)]), { status: 0, asked: 3 });
});

test("trouble that lasts ends within 5 seconds with the last of it", async (t) => {
  const gone = Object.assign(new Error("connect"), { code: "ECONNREFUSED" });
  for (const [answer, words] of [[UNAVAILABLE, "ERR_STS_UNAVAILABLE: STS has not answered"], [gone, "ECONNREFUSED"], ["hang", "no answer within 1200 ms"]] as const) {
    const { status, stdout, stderr, asked, tookMs } = await run(t, [answer]);
    t.same({ status, stdout }, { status: 1, stdout: "" });
    t.match(stderr, words);
    t.ok(asked >= 3 && asked <= 10, `${asked} tries`);
    t.ok(tookMs <= 5_000 && tookMs > 2_000, `${tookMs} ms`);
  }
});

/** The command line against a server of this test, on loopback. */
async function runAgainst(t: Test, serve: RequestListener, flags: readonly string[] = ["--selector", "team-a"], host = "127.0.0.1"): Promise<Ran & { readonly requests: readonly IncomingMessage[] }> {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    serve(request, response);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  t.teardown(() => server.close());
  const file = path.join(t.testdir({ token: `${TOKEN}\n` }), "token");
  const ran = await runCommand(["credential-process", "--endpoint", `http://${host}:${boundAddress(server).port}`, "--token-file", file, ...flags]);
  return { ...ran, requests };
}

const later = { ...SESSION, Expiration: "2126-08-01T13:00:00Z" };

test("the request is one that the sidecar takes: its Host, the token without its newline, and no header of a browser", async (t) => {
  for (const host of ["127.0.0.1", "localhost"]) {
    const { status, stdout, requests } = await runAgainst(t, (_request, response) => response.end(JSON.stringify(later)), undefined, host);
    t.equal(status, 0);
    t.match(JSON.parse(stdout), { Version: 1, AccessKeyId: "ASIATEAMA" });
    t.match(requests.map(({ method, url }) => `${method} ${url}`), ["GET /v1/credentials/selectors/team-a"]);
    t.same(Object.keys(requests[0]?.headers ?? {}).toSorted(), ["accept", "authorization", "connection", "host"]);
    t.match(requests[0]?.headers, { authorization: TOKEN, host: new RegExp(`^${host}:\\d+$`) });
  }
});

test("a resource is asked for by namespace, kind and labels", async (t) => {
  const flags = ["-n", "team-a", "--kind", BUCKET, "-l", "tier=gold", "-l", "example.com/a="];
  const { requests } = await runAgainst(t, (_request, response) => response.end(JSON.stringify(later)), flags);
  t.equal(requests[0]?.url, `/v1/credentials/namespaces/team-a?kind=${BUCKET}&label=tier%3Dgold&label=example.com%2Fa%3D`);
});

test("a redirect is not followed, and an endless answer not read", async (t) => {
  const redirect = await runAgainst(t, (_request, response) => response.writeHead(307, { location: "/elsewhere" }).end());
  t.match(redirect, { status: 1, stdout: "", stderr: /status 307/ });
  t.equal(redirect.requests.length, 1);
});

test("an answer larger than credentials is given up", async (t) => {
  const server = createServer((_request, response) => response.end(Buffer.alloc(65 * 1024, " ")));
  await once(server.listen(0, "127.0.0.1"), "listening");
  t.teardown(() => server.close());
  const url = new URL(`http://127.0.0.1:${boundAddress(server).port}/v1/credentials`);
  await t.rejects(askSidecar(url, TOKEN, new AbortController().signal), /larger than credentials/);
});

test("an address that speaks no TLS is refused for https", async (t) => {
  const server = createServer((_request, response) => response.end());
  await once(server.listen(0, "127.0.0.1"), "listening");
  t.teardown(() => server.close());
  const url = new URL(`https://[::1]:${boundAddress(server).port}/v1/credentials`);
  await t.rejects(askSidecar(url, TOKEN, new AbortController().signal));
});

const COMMAND = ["credential-process", "--endpoint", "http://127.0.0.1:1"];

test("what to ask for is given once, and wholly", async (t) => {
  const file = path.join(t.testdir({ token: TOKEN }), "token");
  const cases: readonly (readonly [flags: readonly string[], fault: string])[] = [
    [[], "--selector, --namespace: give exactly one of them"],
    [["--selector", "a", "--namespace", "b", "--kind", BUCKET], "--selector, --namespace: give exactly one of them"],
    [["--namespace", "a"], "--kind: give exactly one with --namespace"],
    [["--namespace", "a", "--kind", BUCKET, "--kind", BUCKET], "--kind: give exactly one with --namespace"],
    [["--namespace", "a", "--kind", "Bucket"], `--kind "Bucket": expected KIND.GROUP`],
    [["--namespace", "a", "--kind", BUCKET, "-l", "tier"], `--label "tier": expected KEY=VALUE`],
    [["--namespace", "A", "--kind", BUCKET], "--namespace: expected a namespace's name"],
    [["--selector", ".."], "--selector: expected an object's name"],
    [["--selector", "a", "-l", "tier=gold"], "--kind, --label: they go with --namespace"],
  ];
  for (const [flags, fault] of cases) {
    const { status, stdout, stderr } = await runCommand([...COMMAND, "--token-file", file, ...flags]);
    t.same({ status, stdout }, { status: 2, stdout: "" }, flags.join(" "));
    t.match(stderr, `ack-role-resolver: ${fault}`);
  }
  t.match((await runCommand(["credential-process", "--selector", "a"])).stderr, /--endpoint: required[^]*--token-file: required/);
});

test("an endpoint that is not of this machine is never sent the token", async (t) => {
  const file = path.join(t.testdir({ token: TOKEN }), "token");
  const endpoints = [
    "http://169.254.169.254", "http://example.com", "http://127.0.0.1.example.com:9780", "http://127.0.0.1@example.com", "http://user:pass@127.0.0.1:9780",
    "ftp://127.0.0.1", "127.0.0.1:9780", "http://0.0.0.0:9780", "http://127.0.0.1:9780/v1", "http://127.0.0.1:9780?a", "http://127.0.0.1:99999", "",
  ];
  for (const endpoint of endpoints) {
    const { status, stdout, stderr } = await runCommand(["credential-process", "--endpoint", endpoint, "--token-file", file, "--selector", "a"]);
    t.same({ status, stdout }, { status: 2, stdout: "" }, endpoint);
    t.match(stderr, /^ack-role-resolver: --endpoint: /, endpoint);
  }
});

test("a token file that is absent, empty, a folder or more than one word is a usage error that shows nothing of it", async (t) => {
  const dir = t.testdir({ empty: "", newline: "\n", spaces: "planted token", lines: "planted\ntoken", folder: {} });
  for (const name of ["absent", "empty", "newline", "spaces", "lines", "folder"]) {
    const { status, stdout, stderr } = await runCommand([...COMMAND, "--selector", "a", "--token-file", path.join(dir, name)]);
    t.same({ status, stdout }, { status: 2, stdout: "" }, name);
    t.match(stderr, `ack-role-resolver: --token-file ${path.join(dir, name)}: `);
    t.notMatch(stderr, /planted/);
  }
});
