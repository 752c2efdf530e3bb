// The session settings of roles in the requests that an independent STS receives.
import { test, type Test } from "tap";
import { stringAt } from "../../shared/formats/json.ts";
import { MOTO, wheelsIn } from "../programs/wheels.ts";
import { namespaceObject, selectorObject } from "../shared/objects.ts";
import { findPrograms } from "./find-programs.ts";
import { roleARN } from "./planted-sidecar.ts";
import { type RecordedSTS, recordSTS } from "./recorded-sts.ts";
import { startMoto } from "./sdks/moto.ts";
import { type SidecarClient, startSidecarClient } from "./sidecar-client.ts";

const PREFIX = "ack-role-resolver.io";
const OBJECTS = [
  ...["team-a", "team-b", "team-c"].map((name) => namespaceObject(name, { shared: String(name !== "team-a") })),
  selectorObject("own", { arn: roleARN("own"), namespaceSelector: { names: ["team-a"] } }, {
    annotations: {
      [`${PREFIX}/external-id`]: "own-1", [`${PREFIX}/source-identity`]: "own", [`${PREFIX}/session-tags`]: "Via=own",
    },
  }),
  selectorObject("shared", {
    arn: roleARN("shared"), namespaceSelector: { labelSelector: { matchLabels: { shared: "true" } } },
  }),
];
const DEFAULTS = [
  "--default-external-id", "org-1", "--default-source-identity", "ack",
  "--default-session-tags", "team={namespace},via={selector}",
];

/** Returns the session settings of the AssumeRole requests so far. */
function assumed({ calls }: RecordedSTS): object[] {
  return calls.filter(({ form }) => form["Action"] === "AssumeRole").map(({ form }) => ({
    role: form["RoleArn"]?.split("/").at(-1), externalID: form["ExternalId"], source: form["SourceIdentity"],
    tags: Object.fromEntries([1, 2, 3].flatMap((i) => {
      const key = form[`Tags.member.${i}.Key`];
      return key === undefined ? [] : [[key, form[`Tags.member.${i}.Value`]]];
    })),
  }));
}

const OWN = { role: "own", externalID: "own-1", source: "own", tags: { Via: "own", team: "team-a" } };
const SHARED = { role: "shared", externalID: "org-1", source: "ack" };
const IN_TEAM_B = { ...SHARED, tags: { team: "team-b", via: "shared" } };
const IN_TEAM_C = { ...SHARED, tags: { team: "team-c", via: "shared" } };
const OPEN = /with \{namespace\}, but the request does not determine its value\. Request/;

test("STS receives the session settings of selectors, and the defaults for those that they do not set", async (t) => {
  const folders = await findPrograms(t, MOTO);
  if (folders === null) return;
  const sts = await recordSTS(t, await startMoto(t, await wheelsIn(folders[0])));
  const folder = t.testdir({ "objects.json": JSON.stringify({ apiVersion: "v1", kind: "List", items: OBJECTS }) });
  await testSessions(t, await startSidecarClient(t, sts, folder, DEFAULTS));
});

async function testSessions(t: Test, subject: SidecarClient): Promise<void> {
  const keyIn = async (namespace: string): Promise<string | null> => {
    const { status, body } = await subject.credentials(`/namespaces/${namespace}`);
    t.equal(status, 200, body);
    return stringAt(JSON.parse(body), "AccessKeyId");
  };
  const keys = [await keyIn("team-a"), await keyIn("team-b"), await keyIn("team-c"), await keyIn("team-b")];
  t.same(assumed(subject.sts), [OWN, IN_TEAM_B, IN_TEAM_C]);
  t.equal(new Set(keys).size, 3, "each namespace has a session of its own");
  t.equal(keys[3], keys[1]);
  const byName = await subject.credentials("/selectors/shared");
  t.match(byName, { status: 403, body: OPEN });
  t.match(await subject.assume("shared"), { status: 403, body: OPEN });
  t.match(await subject.assume("own", { ExternalId: "org-1" }), { status: 403, body: /ExternalId: the IAM/ });
  const own = { "ExternalId": "own-1", "Tags.member.1.Key": "team", "Tags.member.1.Value": "team-a" };
  t.match(await subject.assume("own", own), { status: 403, body: /Tags: / }, "not all of its tags");
  t.match(await subject.assume("own", { ExternalId: "own-1" }), { status: 200 });
  t.equal(assumed(subject.sts).length, 3, "a refused request does not reach STS, and the role has one session");
}
