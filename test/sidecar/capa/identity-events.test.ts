import { test } from "tap";
import { field, type JsonObject, stringAt } from "../../../shared/formats/json.ts";
import { compareText } from "../../../shared/formats/text.ts";
import {
  clusterObject, controllerIdentity, identityObject, INFRASTRUCTURE, roleARN, roleIdentity,
} from "../../shared/capa-objects.ts";
import { kindObject, namespaceObject, put } from "../../shared/objects.ts";
import { EventServer, settle } from "../event-server.ts";
import { FakeClock, moveUntil } from "../fake-clock.ts";
import { type Faults, get, loadedSource, type Running, start } from "../running-sidecar.ts";

const CLUSTERS = `/apis/${INFRASTRUCTURE}/v1beta2/awsclusters`;
const EVERY_VERSION = [
  { name: "v1beta1", served: false, storage: false }, { name: "v1beta2", served: true, storage: true },
];
const KINDS = [
  "AWSCluster", "AWSClusterTemplate", "AWSClusterRoleIdentity", "AWSServiceAccountIdentity",
].map((kind) => kindObject(kind, INFRASTRUCTURE, EVERY_VERSION));
const SECRET = "planted-external-id";
/** `a` is chained on `b`. */
const IDENTITIES = [controllerIdentity(), roleIdentity("a", "role/b"), roleIdentity("b"), roleIdentity("other")];
const pathOf = (name: string): string => (
  `/v1/credentials/identities/AWSClusterRoleIdentity/${name}?namespace=team-a`
);

interface Started extends Running {
  readonly clock: FakeClock;
  readonly api: EventServer;
  /** The roles that STS rejects. */
  readonly rejected: Set<string>;
}

function withUID(object: JsonObject, uid: string): JsonObject {
  const metadata = field(object, "metadata");
  return { ...object, metadata: { ...(typeof metadata === "object" && metadata), uid } };
}

async function startSidecar(t: Parameters<typeof start>[0], settings: object, ...rejected: string[]): Promise<Started> {
  const [clock, api, roles] = [new FakeClock(Date.now()), new EventServer(), new Set(rejected)];
  const faults: Faults = ({ roleARN: arn }) => (
    roles.has(arn?.split("/").at(-1) ?? "")
      ? { do: "reject", code: "AccessDenied", status: 403, message: `not authorized with ${SECRET}` } : null
  );
  const source = loadedSource();
  const identities = IDENTITIES.map((one) => withUID(one, `uid-${stringAt(one, "metadata", "name")}`));
  source.inventory.apply([namespaceObject("team-b"), ...KINDS, ...identities].map(put));
  const running = await start(t, { group: [INFRASTRUCTURE], ...settings }, { clock, api, source }, faults);
  return { ...running, source, clock, api, rejected: roles };
}

const regarding = (api: EventServer): (string | null)[] => api.events.map((event) => (
  `${stringAt(event, "regarding", "kind")}/${stringAt(event, "regarding", "name")}`
));

async function metrics({ sidecar }: Running): Promise<string> {
  return (await get(sidecar.healthAddress, "/metrics")).body;
}

test("reports the identity whose role STS rejects, and the clusters whose chain contains it", async (t) => {
  const running = await startSidecar(t, {}, "b");
  const { api, clock, sidecar, source } = running;
  source.inventory.apply([put(roleIdentity("narrow", "role/b", { list: ["team-b"] }))]);
  api.pages[CLUSTERS] = [
    [clusterObject("over-a", "role/a", "team-a"), clusterObject("of-other", "role/other", "team-a")],
    [withUID(clusterObject("of-b", "role/b", "team-b"), "uid-of-b"), clusterObject("default", null, "team-a"),
      clusterObject("denied", "role/narrow", "team-a")],
  ];
  const response = await get(sidecar.address, pathOf("a"));
  t.match([response.status, response.body], [503, /AWSClusterRoleIdentity \\"b\\" cannot be assumed/]);
  await settle(clock, 6);
  t.same(regarding(api), ["AWSClusterRoleIdentity/b", "AWSCluster/over-a", "AWSCluster/of-b"]);
  t.match(api.events[0], {
    reason: "RoleRefused", type: "Warning", metadata: { namespace: "default" },
    regarding: { apiVersion: `${INFRASTRUCTURE}/v1beta2`, kind: "AWSClusterRoleIdentity", uid: "uid-b" },
    note: new RegExp('^The role of AWSClusterRoleIdentity "b" cannot be assumed: STS denied sts:AssumeRole on '
      + `${roleARN("b")} for arn:aws:sts::999999999999:assumed-role/ack/pod: .*\\. Allow sts:AssumeRole to `
      + "arn:aws:iam::999999999999:role/ack \\(insert the path of the role, if it has one\\) in .*"
      + "or name another role in spec\\.roleARN of the identity\\. Show it: "
      + "`ack-role-resolver trust check .*STS returned AccessD"),
  });
  t.match(api.events[2], { metadata: { namespace: "team-b" }, regarding: { uid: "uid-of-b" } });
  t.match(await metrics(running), "ack_role_resolver_sidecar_refused_identities 1\n");
  const lists = api.requests.filter(({ path }) => path.includes("limit="));
  t.same(lists.map(({ path }) => path), [`${CLUSTERS}?limit=500`, `${CLUSTERS}?limit=500&continue=1`],
    "kinds that are not installed and templates are not listed");

  for (let minute = 0; minute < 10; minute += 1) {
    await get(sidecar.address, pathOf("a"));
    await settle(clock, 61);
  }
  t.equal(api.events.length, 3, "a repeated rejection continues the series");
});

test("reports a service account identity whose role STS rejects, and the clusters of its namespace", async (t) => {
  const running = await startSidecar(t, {}, "capa");
  const { api, clock, sidecar, source } = running;
  const account = (namespace: string): JsonObject => identityObject("AWSServiceAccountIdentity", "capa", {
    roleARN: roleARN("capa"),
  }, { namespace, uid: `uid-${namespace}` });
  source.inventory.apply([put(account("team-a")), put(account("team-b"))]);
  api.pages[CLUSTERS] = [
    [clusterObject("mine", "account/capa", "team-a"), clusterObject("theirs", "account/capa", "team-b")],
  ];
  const path = "/v1/credentials/identities/AWSServiceAccountIdentity/capa?namespace=team-a";
  t.equal((await get(sidecar.address, path)).status, 503);
  await settle(clock, 6);
  t.same(regarding(api), ["AWSServiceAccountIdentity/capa", "AWSCluster/mine"]);
  t.match(api.events[0], {
    reason: "RoleRefused", metadata: { namespace: "team-a" },
    regarding: { apiVersion: `${INFRASTRUCTURE}/v1beta2`, uid: "uid-team-a" },
    note: new RegExp('^The role of AWSServiceAccountIdentity "capa" cannot be assumed: STS denied '
      + `sts:AssumeRoleWithWebIdentity on ${roleARN("capa")} .*\\. In the trust policy, allow `
      + "sts:AssumeRoleWithWebIdentity to the OIDC provider of the issuer .* sub is system:serviceaccount:team-a:capa "
      + `and aud is "sts\\.amazonaws\\.com"\\. Show it: \`ack-role-resolver trust who ${roleARN("capa")} --iam `
      + "111122223333\\.json`\\. STS returned AccessDenied for AssumeRoleWithWebIdentity: not authorized"),
  });
  t.match(await metrics(running), "ack_role_resolver_sidecar_refused_identities 1\n");
  t.match(await metrics(running), 'sidecar_identity_token_requests_total{result="ok"} 1\n');
});

test("names the role of the source in the required trust policy, and the external ID is secret", async (t) => {
  const { api, clock, sidecar, source } = await startSidecar(t, {}, "c");
  source.inventory.apply([put(roleIdentity("c", "role/b", {}, { externalID: SECRET, tags: { team: "a" } }))]);
  t.equal((await get(sidecar.address, pathOf("c"))).status, 503);
  await settle(clock, 3);
  t.same(regarding(api), ["AWSClusterRoleIdentity/c"]);
  const fix = `Allow sts:AssumeRole with the external ID of the identity, sts:TagSession to ${roleARN("b")} in the`;
  t.match(stringAt(api.events[0], "note"), fix);
  t.notMatch(JSON.stringify(api.events), SECRET);
});

test("counts no refused identity after its role is assumed again", async (t) => {
  const running = await startSidecar(t, {}, "b");
  await get(running.sidecar.address, pathOf("b"));
  t.match(await metrics(running), "sidecar_refused_identities 1\n");
  running.rejected.clear();
  await running.clock.advance(60_000);
  t.equal((await get(running.sidecar.address, pathOf("b"))).status, 200);
  t.match(await metrics(running), "sidecar_refused_identities 0\n");
});

test("with --check CI-35=warn, assumes each role before a cluster needs it, and reports only the source", async (t) => {
  const running = await startSidecar(t, { check: ["CI-35=warn"] }, "b");
  const { api, clock, sts, logLines, sidecar } = running;
  t.equal((await get(sidecar.address, "/v1/credentials")).status, 200);
  const isProbed = async (): Promise<boolean> => {
    const text = await metrics(running);
    return /role_checks_total\{result="ok"\} 1\n/.test(text) && /role_checks_total\{result="refused"\} 1\n/.test(text);
  };
  t.ok(await moveUntil(isProbed, { clock, stepMs: 100, steps: 200 }));
  await settle(clock, 10);
  t.same(regarding(api), ["AWSClusterRoleIdentity/b"]);
  const roles = sts.calls.filter(({ action }) => action === "AssumeRole").map((call) => String(call.roleARN));
  t.same(roles.toSorted(compareText), [roleARN("b"), roleARN("other")]);
  const warnings = logLines.filter((line) => line.includes("CI-35")).map((line): unknown => JSON.parse(line));
  t.equal(warnings.length, 1);
  t.match(warnings, [{ check: "CI-35", identity: "b", role_arn: roleARN("b"), sts_code: "AccessDenied" }]);
  t.match(await metrics(running), /sidecar_refused_identities 1\n/);
  t.match(await metrics(running), /sidecar_failing_roles 0\n/, "which counts selectors");
});
