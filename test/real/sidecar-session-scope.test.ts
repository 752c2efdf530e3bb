// The session policies in the requests that an independent STS receives, judged by an independent evaluator.
import { writeFileSync } from "node:fs";
import { test, type Test } from "tap";
import { isJsonObject, type JsonObject, parseJSON } from "../../shared/formats/json.ts";
import { runCommand } from "../cli/run-command.ts";
import { MOTO, wheelsIn } from "../programs/wheels.ts";
import { simulates } from "../shared/core/session-evaluators.ts";
import { namespaceObject, selectorObject } from "../shared/objects.ts";
import { until } from "./apiserver/until.ts";
import { findPrograms } from "./find-programs.ts";
import { roleARN } from "./planted-sidecar.ts";
import { recordSTS } from "./recorded-sts.ts";
import { startMoto } from "./sdks/moto.ts";
import { type SidecarClient, startSidecarClient } from "./sidecar-client.ts";

const PREFIX = "ack-role-resolver.io";
const OF_AWS = "arn:aws:iam::aws:policy/AmazonS3FullAccess";
const EVERYTHING = { Effect: "Allow", Action: "*", Resource: "*" };
/** How soon a change of a selector must take effect. */
const CHANGE_MS = 2_000;

function selector(name: string, annotations: Readonly<Record<string, string>> = {}): JsonObject {
  const keyed = Object.entries(annotations).map(([key, value]) => [`${PREFIX}/${key}`, value] as const);
  const spec = { arn: roleARN(name), namespaceSelector: { names: [name] } };
  return selectorObject(name, spec, { annotations: Object.fromEntries<string>(keyed) });
}

const NAMES = ["scoped", "open", "listed"];
const OBJECTS = [
  ...NAMES.map((name) => namespaceObject(name)),
  selector("scoped"), selector("open", { "session-scope": "none" }),
  selector("listed", {
    "session-policy-arns": OF_AWS, "session-policy": JSON.stringify({ Statement: [EVERYTHING] }),
  }),
];

function manifest(items: readonly JsonObject[]): string {
  return JSON.stringify({ apiVersion: "v1", kind: "List", items });
}

/** Returns the session policies of the last AssumeRole request for the role. */
function sentFor(name: string, { sts }: SidecarClient): { readonly policy: unknown; readonly arns: readonly string[] } {
  const form = sts.calls.findLast(({ form: { RoleArn } }) => RoleArn === roleARN(name))?.form ?? {};
  const arns = [1, 2].flatMap((i) => form[`PolicyArns.member.${i}.arn`] ?? []);
  return { policy: parseJSON(form["Policy"] ?? ""), arns };
}

const CREATE_BUCKET = { action: "s3:CreateBucket", resource: "arn:aws:s3:::data", context: {} };
const CREATE_USER = { action: "iam:CreateUser", resource: "arn:aws:iam::111122223333:user/eve", context: {} };

/** Tests that the policy allows the controller's own call, and no call of another service. */
async function limits(t: Test, policy: unknown): Promise<void> {
  if (!isJsonObject(policy)) throw new Error("no policy was sent");
  t.ok(await simulates(policy, CREATE_BUCKET));
  t.notOk(await simulates(policy, CREATE_USER));
}

test("STS receives the scope of the controller, and never policies that add to it", async (t) => {
  const folders = await findPrograms(t, MOTO);
  if (folders === null) return;
  const sts = await recordSTS(t, await startMoto(t, await wheelsIn(folders[0])));
  const folder = t.testdir({ "objects.json": manifest(OBJECTS) });
  const client = await startSidecarClient(t, sts, folder, ["--profile", "strict"]);
  for (const name of NAMES) t.equal((await client.credentials(`/selectors/${name}`)).status, 200, name);
  await t.test("the policy that `trust policy` prints", async (tt) => {
    const { stdout } = await runCommand(["trust", "policy", "--group", "s3.services.k8s.aws"]);
    const { policy, arns } = sentFor("scoped", client);
    tt.same([policy, arns], [parseJSON(stdout), []]);
    await limits(tt, policy);
  });
  await t.test("nothing, if the selector is an exception", async (tt) => {
    tt.same(sentFor("open", client), { policy: undefined, arns: [] });
  });
  await t.test("the policies of the selector, beside the scope as denials", async (tt) => {
    const { policy, arns } = sentFor("listed", client);
    tt.same(arns, [OF_AWS]);
    await limits(tt, policy);
  });
  await t.test("the policy of a client, beside the scope as denials", async (tt) => {
    const asked = JSON.stringify({ Version: "2012-10-17", Statement: [EVERYTHING] });
    tt.match(await client.assume("scoped", { Policy: asked }), { status: 200 });
    await limits(tt, sentFor("scoped", client).policy);
    tt.match(await client.assume("listed", { Policy: asked }), { status: 403, body: /AccessDenied/ });
  });
  await t.test("a changed policy within 2 s", async (tt) => {
    const changed = OBJECTS.map((one) => (one === OBJECTS[3] ? selector("scoped", { "session-scope": "none" }) : one));
    writeFileSync(`${folder}/objects.json`, manifest(changed));
    const isOpen = async (): Promise<boolean> => {
      await client.credentials("/selectors/scoped");
      return sentFor("scoped", client).policy === undefined;
    };
    tt.ok(await until(isOpen, CHANGE_MS));
  });
});
