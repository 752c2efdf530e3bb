import path from "node:path";
import { type Test, test } from "tap";
import { runCredentialProcess, type SendRequest } from "../../cli/credential-process.ts";
import { type Flags, readSettings } from "../../shared/server/read-settings.ts";
import { namespaceObject, selectorObject, SETTINGS_BY_DEFAULT } from "../shared/objects.ts";
import { type Setup, SidecarUnderTest, TOKEN } from "../sidecar/sidecar-under-test.ts";
import { captureOutput } from "./run-command.ts";

const BUCKET = "Bucket.s3.services.k8s.aws";
const ARN = "arn:aws:iam::111122223333:role/team-a";
const NAMES = { namespaceSelector: { names: ["team-a"] } };
const BUCKETS = { ...NAMES, resourceTypeSelector: [{ group: "s3.services.k8s.aws", version: "v1", kind: "Bucket" }] };

/** Runs credential-process and passes its requests to a sidecar without a socket. Returns the error. */
async function errorOf(t: Test, setup: Setup, flags: Flags, token = TOKEN): Promise<string> {
  const sidecar = new SidecarUnderTest(setup);
  const send: SendRequest = async ({ pathname, search }, authorization) => {
    const headers = { host: "127.0.0.1:9780", authorization };
    const { statusCode, body } = await sidecar.app.inject({ url: pathname + search, headers });
    return { status: statusCode, body };
  };
  const tokenFile = path.join(t.testdir({ token }), "token");
  const settings = readSettings("credential-process", { endpoint: "http://127.0.0.1:9780", tokenFile, ...flags }, {});
  const { status, stderr } = await captureOutput((io) =>
    runCredentialProcess(settings, io, { clock: sidecar.clock, send }));
  t.equal(status, 1);
  return stderr.slice("ack-role-resolver: http://127.0.0.1:9780: ".length);
}

test("the error for a role that depends on labels names --label", async (t) => {
  const byLabel = { ...NAMES, resourceLabelSelector: { matchLabels: { tier: "gold" } } };
  const objects = [namespaceObject("team-a"), selectorObject("a", { arn: ARN, ...byLabel })];
  t.equal(
    await errorOf(t, { objects }, { namespace: "team-a", kind: [BUCKET] }),
    "ERR_SELECTOR_AMBIGUOUS: In namespace team-a the role depends on the labels of the resource, but the request has "
      + "no labels. IAMRoleSelectors that read labels: [a]. Set --label for each label of the resource.\n",
  );
});

test("if the role depends on the version, the error mentions --kind", async (t) => {
  const objects = [namespaceObject("team-a"), selectorObject("a", { arn: ARN, ...BUCKETS })];
  t.match(
    await errorOf(t, { objects }, { namespace: "team-a", kind: [BUCKET] }),
    /\)\. Set --kind KIND\.VERSION\.GROUP, or set the sidecar's --kind\.\n$/,
  );
});

test("the error for a rejected token names --token-file", async (t) => {
  t.equal(
    await errorOf(t, {}, { selector: "a" }, "another-token-0123456789"),
    "ERR_TOKEN_INVALID: The sidecar rejected the token. Set --token-file to the token file that the sidecar uses.\n",
  );
});

test("an error states which of its flags belong to the sidecar", async (t) => {
  const objects = [namespaceObject("team-a"), selectorObject("a", { arn: ARN, ...NAMES })];
  const queue = { namespace: "team-a", kind: ["Queue.sqs.services.k8s.aws"] };
  t.match(await errorOf(t, { objects }, queue), "group sqs.services.k8s.aws; the sidecar's --group allows ");
  t.match(
    await errorOf(t, { objects: [namespaceObject("team-a")], unmatched: "deny" }, { ...queue, kind: [BUCKET] }),
    ", and the sidecar runs with --unmatched deny.",
  );
  t.match(
    await errorOf(t, { objects, scope: "team-b" }, { ...queue, kind: [BUCKET] }),
    " serves only namespace team-b (the sidecar's --scope-namespace), not team-a.",
  );
});

test("the error for --selector with a sidecar in CARM mode names the flags to use instead", async (t) => {
  t.equal(
    await errorOf(t, { settings: { ...SETTINGS_BY_DEFAULT, mode: "carm" } }, { selector: "a" }),
    "ERR_SELECTOR_NOT_GRANTED: With the sidecar's --mode carm, only the CARM ConfigMaps grant roles, not "
      + "IAMRoleSelectors. Set --namespace and --kind instead of --selector, or run the controllers and the sidecar "
      + "with --mode selectors.\n",
  );
});
