import { INVENTORY_KINDS } from "../shared/kinds.ts";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { type Test, test } from "tap";
import { isJsonObject, stringAt } from "../shared/formats/json.ts";
import { Inventory } from "../shared/core/inventory.ts";
import { codeBlocks } from "./documented-commands.ts";
import { namespaceObject, put, selectorObject } from "./shared/objects.ts";
import { get, loadedSource, start } from "./sidecar/running-sidecar.ts";

const PAGE = readFileSync(path.join(import.meta.dirname, "../docs/audit-log.md"), "utf8");
const COMMANDS = codeBlocks(PAGE, "sh").map(([, block]) => block).filter((block) => block.startsWith("jq "));
const ROLE = "arn:aws:iam::111122223333:role/ack/team-a";
const ANNOTATIONS = {
  "ack-role-resolver.io/session-name": "ack-team-a", "ack-role-resolver.io/source-identity": "ack",
};

/** Returns the log of a sidecar whose clients got two sessions, and the access key ID of the session of `team-a`. */
async function recordedLog(t: Test): Promise<{ readonly log: string; readonly accessKeyID: string }> {
  const inventory = new Inventory({ runtime: "ack", origin: "file" }, INVENTORY_KINDS);
  const selector = (name: string, arn: string): ReturnType<typeof put> => (
    put(selectorObject(name, { arn, namespaceSelector: { names: [name] } }, { annotations: ANNOTATIONS }))
  );
  inventory.apply([
    ...["team-a", "team-b"].map((name) => put(namespaceObject(name))),
    selector("team-a", ROLE), selector("team-b", ROLE.replaceAll("team-a", "team-b")),
  ]);
  const { sidecar, logLines } = await start(t, {}, { source: { ...loadedSource(), inventory } });
  const paths = ["namespaces/team-b", "namespaces/team-a?kind=Bucket.s3.services.k8s.aws", "selectors/team-a"];
  let body: unknown = null;
  for (const one of paths) body = JSON.parse((await get(sidecar.address, `/v1/credentials/${one}`)).body);
  return { log: ["no JSON\n", ...logLines].join(""), accessKeyID: stringAt(body, "AccessKeyId") ?? "" };
}

test("the commands in the page on the audit log find the clients of a session, and foreign sessions", async (t) => {
  if (spawnSync("jq", ["--version"]).error !== undefined && process.env["CI"] !== "true") {
    t.plan(0, "jq is missing");
    return;
  }
  const { log, accessKeyID } = await recordedLog(t);
  const event = JSON.stringify({ userIdentity: { accessKeyId: accessKeyID } });
  const cwd = t.testdir({ "sidecar.log": log, "event.json": event });
  const [, requestID = ""] = /"sts_request_id":"([^"]+)"/.exec(log) ?? [];
  const call = {
    eventName: "AssumeRole", eventTime: "T", requestParameters: { roleArn: ROLE }, userIdentity: { arn: "arn:other" },
  };
  const Records = [{ ...call, requestID }, { ...call, requestID: "foreign" }, { ...call, eventName: "GetObject" }];
  writeFileSync(path.join(cwd, "cloudtrail.json"), JSON.stringify({ Records }));
  const outputs = COMMANDS.map((command) => {
    const { status, stdout, stderr } = spawnSync("bash", ["-c", command], { cwd, encoding: "utf8" });
    t.equal(status, 0, stderr);
    return stdout.trimEnd().split("\n");
  });
  const [time, expiration] = outputs[0]?.[0]?.split("\t") ?? [];
  t.ok(Date.parse(String(expiration)) - Date.parse(String(time)) > 3_500_000);
  const clients = [
    ["/v1/credentials/namespaces/:namespace", { namespace: "team-a", kind: "Bucket.s3.services.k8s.aws" }],
    ["/v1/credentials/selectors/:name", { name: "team-a" }],
  ] as const;
  t.same(outputs[0]?.map((line) => line.split("\t").slice(2)), clients.map(([route, requested]) => (
    ["team-a", route, JSON.stringify(requested)]
  )));
  t.match(outputs[1]?.map((line): unknown => JSON.parse(line)), clients.map(([route, requested]) => (
    { path: route, requested, selectors: ["team-a"] }
  )));
  t.same(outputs[2], [`T\tforeign\tarn:other\t${ROLE}`]);
});

test("the page on the audit log shows a line with the fields of a real line, and describes each field", async (t) => {
  const [shown] = codeBlocks(PAGE, "json").map(([, example]): unknown => JSON.parse(example));
  const { log } = await recordedLog(t);
  const real: unknown = JSON.parse(log.split("\n").find((line) => line.includes('"kind":"Bucket')) ?? "");
  if (!isJsonObject(shown) || !isJsonObject(real)) throw new Error("no objects");
  const fields = Object.keys(shown);
  t.same(fields.filter((name) => name !== "repeats"), Object.keys(real));
  for (const name of fields.slice(3, -1)) t.match(PAGE, new RegExp(`^\\| (\`\\w+\`, )*\`${name}\``, "m"));
  for (const name of ["role_arn", "selectors", "requested", "session_name", "source_identity", "account"]) {
    t.same(real[name], shown[name], name);
  }
  for (const [, message = ""] of log.matchAll(/"expiration":.*"msg":"(.*)"/g)) t.match(PAGE, `| \`${message}\` |`);
});
