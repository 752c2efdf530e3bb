import { test } from "tap";
import type { JsonObject } from "../../../../shared/formats/json.ts";
import { bucketObject, FIRST, namespaceObject, ROLE, roleIn, selectorFor, selectorObject } from "../../objects.ts";
import { company } from "./company.ts";
import { mapped, useTexts } from "./mapped.ts";

const TEAM_A = selectorObject("team-a", { arn: ROLE, namespaceSelector: { names: ["team-a"] } });
const NAMESPACE = namespaceObject("team-a", { team: "a" });

test("a map refers to each name and text by its index", (t) => {
  const objects = [NAMESPACE, TEAM_A, bucketObject(), bucketObject({ name: "b0" })];
  t.same(mapped(objects, { settings: { region: "eu-west-1" } }), {
    root: null, isCluster: false, controllerAccount: null,
    totals: {
      resources: 2, namespaces: 1, selectors: 1,
      states: {
        conflict: 0, refused: 0, malformed: 0, faulty: 0, stale: 0, default: 0, unjudged: 0, resolved: 2,
      },
    },
    namespaces: [{
      name: "team-a", labels: [["kubernetes.io/metadata.name", "team-a"], ["team", "a"]], isKnown: true, ignored: [],
    }],
    kinds: ["Bucket.s3.services.k8s.aws"],
    roles: [{ arn: ROLE, account: "111122223333" }],
    selectors: [{
      name: "team-a", state: "resolved", role: 0, conditions: ["spec.namespaceSelector.names: namespace team-a"],
      names: [], session: [], findings: [], place: "a.yaml:7",
    }],
    findings: [],
    reasons: [{
      state: "resolved", outcome: "selected", code: null, role: 0, selectors: [0], chain: [],
      region: "eu-west-1 (set by the controller)", message: "IAMRoleSelector team-a selects the resource.",
      findings: [],
    }],
    uses: [[0, 0, 0, 2, ["b0", "b1"]]],
    objects: [], unjudged: [], moves: null, omitted: [],
  });
  t.end();
});

const OTHER = selectorFor("other", FIRST, ["team-a"]);
const stale = { "ack-role-resolver.io/role-arn": roleIn(FIRST, "old") };

test("a map shows the state of each resource, selector and file that was not judged", (t) => {
  const stateOf = (objects: readonly JsonObject[], runtime: "ack" | "extended" = "ack"): unknown => {
    const { totals: { states } } = mapped([NAMESPACE, ...objects], { runtime });
    return Object.fromEntries(Object.entries(states).filter(([, count]) => count > 0));
  };
  const drifted = bucketObject({}, { status: { ackResourceMetadata: { ownerAccountID: "444455556666" } } });
  const chosen = { "ack-role-resolver.io/use-selector": "absent" };
  t.same(stateOf([TEAM_A, OTHER, bucketObject()]), { conflict: 1 });
  t.same(stateOf([TEAM_A, bucketObject({ annotations: chosen })], "extended"), { refused: 1 });
  t.same(stateOf([selectorObject("a", { arn: "x" }), bucketObject()]), { malformed: 1, default: 1 });
  t.same(stateOf([TEAM_A, drifted]), { faulty: 1 });
  t.same(stateOf([TEAM_A, bucketObject({ annotations: stale })]), { stale: 1 });
  t.same(stateOf([bucketObject()]), { default: 1 }, "no selector at all");
  const labels = { ...TEAM_A, metadata: { name: "a", annotations: { "ack-role-resolver.io/external-id": "a b" } } };
  t.same(stateOf([labels]), { faulty: 1 }, "an effective selector that the webhook would deny");
  t.same(stateOf([labels, bucketObject()]), { faulty: 2 }, "also the resource that it selects");
  const unjudged = [{ file: "chart.yaml", reason: "unrendered", count: 3 }] as const;
  const map = mapped([TEAM_A, bucketObject()], { unjudged });
  t.match(map.totals.states, { unjudged: 3, resolved: 1 });
  t.same(map.unjudged, [{
    file: "chart.yaml", count: 3, what: "3 objects in templates that are not rendered",
    fix: "helm template . | ack-role-resolver lint -",
  }]);
  t.end();
});

test("what is wrong comes first, with its findings and their fixes", (t) => {
  const healthy = { namespace: "a-team", name: "a" };
  const map = mapped([
    namespaceObject("a-team"), NAMESPACE, TEAM_A, OTHER, selectorFor("a-team", FIRST, ["a-team"]),
    bucketObject(healthy), bucketObject(),
  ]);
  t.same(useTexts(map), [
    "team-a Bucket.s3.services.k8s.aws conflict no role: 1 (b1)",
    `a-team Bucket.s3.services.k8s.aws resolved ${roleIn(FIRST, "a-team")}: 1 (a)`,
  ]);
  const [{ selectors, findings: [finding = -1] } = { selectors: [], findings: [] }] = map.reasons;
  t.same(selectors.map((index) => map.selectors[index]?.name), ["other", "team-a"]);
  t.match(map.findings[finding], {
    code: "ACK-03", severity: "deny", path: "metadata",
    fix: "restrict or delete selectors until only one selects the resource",
  });
  t.end();
});

test("a map has the account of the controller's own role, and what a malformed selector names", (t) => {
  const names = Array.from({ length: 21 }, (_, i) => `n${i}`);
  const broken = selectorObject("broken", { arn: "x", namespaceSelector: { names } });
  const map = mapped([broken, TEAM_A, bucketObject()], { settings: { controllerRole: roleIn(FIRST, "ack") } });
  t.equal(map.controllerAccount, FIRST);
  t.same(map.selectors.map((one) => one.names), [names.slice(0, 20), []]);
  t.end();
});

test("a map has the code of a resource that has no role", (t) => {
  const { reasons } = mapped([NAMESPACE, TEAM_A, OTHER, bucketObject()]);
  t.same(reasons.map(({ code }) => code), ["ERR_SELECTOR_CONFLICT"]);
  t.end();
});

test("an object with findings that has no role is in the map with its place", (t) => {
  const namespace = namespaceObject("team-b", {}, { "services.k8s.aws/owner-account-id": "1" });
  const { objects, findings } = mapped([namespace, TEAM_A]);
  t.match(objects, [{ kind: "Namespace", namespace: "", name: "team-b", place: "a.yaml:7" }]);
  t.match(objects.flatMap((object) => object.findings.map((one) => findings[one]?.code)), ["CM-09", "NS-03"]);
  t.end();
});

test("a resource without a name, or in a namespace that the input lacks, is counted", (t) => {
  const nameless = { ...bucketObject(), metadata: { namespace: "team-a" } };
  const map = mapped([TEAM_A, nameless, bucketObject()]);
  t.same(useTexts(map), [`team-a Bucket.s3.services.k8s.aws resolved ${ROLE}: 2 ((no name), b1)`]);
  t.same(map.namespaces, [{ name: "team-a", labels: [], isKnown: false, ignored: [] }]);
  t.end();
});

test("the chain of a cluster names its identities", (t) => {
  const cluster = {
    apiVersion: "infrastructure.cluster.x-k8s.io/v1beta2", kind: "AWSCluster",
    metadata: { name: "c", namespace: "team-a" }, spec: { identityRef: { kind: "AWSClusterRoleIdentity", name: "r" } },
  };
  const identity = {
    apiVersion: "infrastructure.cluster.x-k8s.io/v1beta2", kind: "AWSClusterRoleIdentity", metadata: { name: "r" },
    spec: {
      roleARN: ROLE, allowedNamespaces: {},
      sourceIdentityRef: { kind: "AWSClusterControllerIdentity", name: "default" },
    },
  };
  const [reason] = mapped([NAMESPACE, identity, cluster]).reasons;
  t.match(reason?.chain[0], 'AWSClusterRoleIdentity "r"');
  t.end();
});

test("a change has the reasons before and after it", (t) => {
  const moved = selectorFor("team-a", "444455556666", ["team-a"]);
  const before = [NAMESPACE, TEAM_A, bucketObject(), bucketObject({ name: "gone" })];
  const map = mapped([NAMESPACE, moved, bucketObject()], { before });
  const names = (index: number): string | undefined => map.roles[map.reasons[index]?.role ?? -1]?.arn;
  t.same(map.moves?.map(([namespace, kind, change, from, to, count, list]) => [
    map.namespaces[namespace]?.name, map.kinds[kind], change, names(from), names(to), count, list,
  ]), [
    ["team-a", "Bucket.s3.services.k8s.aws", "account", ROLE, roleIn("444455556666", "team-a"), 1, ["b1"]],
    ["team-a", "Bucket.s3.services.k8s.aws", "removed", ROLE, undefined, 1, ["gone"]],
  ]);
  t.end();
});

test("a generated company has exactly its planted problems", (t) => {
  const size = { namespaces: 40, accounts: 4, resources: 6, problems: 2 };
  const { objects, planted } = company(size);
  const map = mapped(objects, { runtime: "extended" });
  const inState = (state: string): string[] => [...new Set(map.uses.flatMap(([namespace, , reason]) => (
    map.reasons[reason]?.state === state ? map.namespaces[namespace]?.name ?? [] : []
  )))].toSorted();
  for (const state of ["conflict", "refused", "stale", "default"] as const) {
    t.same(inState(state), planted[state].toSorted(), state);
  }
  const malformed = map.selectors.filter(({ state }) => state === "malformed").map(({ name }) => name);
  t.same(malformed, planted.malformed.toSorted());
  t.equal(map.totals.resources, size.namespaces * size.resources);
  t.equal(new Set(map.roles.map(({ account }) => account)).size, size.accounts + 1, "and that of a malformed ARN");
  t.same(map.omitted, []);
  t.end();
});
