import { test } from "tap";
import { readSessionDefaults } from "../../../shared/core/session-defaults.ts";
import {
  grantInNamespace, grantRole, grantSelector, isStillGranted,
} from "../../../shared/core/grant-decision.ts";
import type { Grant } from "../../../shared/core/grant.ts";
import { NO_EXTRAS } from "../../../shared/core/session.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { put, removal } from "../objects.ts";
import { A, ANYWHERE, B, grantText, inventoryOf, S3, selector, TEAM_A } from "./comparable-grant.ts";

const sessionDefaults = readSessionDefaults({
  defaultExternalId: "org-1", defaultSourceIdentity: "ack", defaultSessionTags: ["team={namespace}", "by={group}"],
});
const EVERYWHERE = { namespaceSelector: {}, resourceTypeSelector: [{ group: S3 }] };
const BY_NAME = { "session-tags": "who={selector},team={namespace}" };

/** Returns the text of each tag, or of the denial. */
function tagsOf(grant: Grant): string {
  if (grant.verdict !== "role") return grantText(grant);
  return grant.extras.tags.map(({ key, value }) => `${key}=${value}`).join();
}

/** Returns the grants to team-a and team-b, by name and by ARN. */
function grants(objects: readonly JsonObject[], query: Partial<typeof ANYWHERE> = {}): Grant[] {
  const inventory = inventoryOf(objects);
  const inNamespace = { ...TEAM_A, sessionDefaults, ...query };
  return [
    grantInNamespace(inventory, inNamespace), grantInNamespace(inventory, { ...inNamespace, namespace: "team-b" }),
    grantSelector(inventory, "a", { ...ANYWHERE, sessionDefaults, ...query }),
    grantRole(inventory, A, { ...ANYWHERE, sessionDefaults, ...query }),
  ];
}

const OPEN = "ERR_SELECTOR_EXTRAS [a] IAMRoleSelector a sets the session tag \"team\" with {namespace}, but the "
  + "request does not determine its value. Request /v1/credentials/namespaces/NS, set --scope-namespace of the "
  + "sidecar, use a selector and a role for each namespace, or set the tag without {namespace} in the annotation "
  + "session-tags.";

test("fills in the namespace of a shared selector if the request determines it, and otherwise denies", (t) => {
  const shared = selector("a", A, EVERYWHERE, BY_NAME);
  t.same(grants([shared]).map(tagsOf), [
    `by=${S3},team=team-a,who=a`, `by=${S3},team=team-b,who=a`, OPEN, OPEN,
  ]);
  const [, , byName, byRole] = grants([shared], { scope: "team-b" }).map(tagsOf);
  t.same([byName, byRole], Array.from({ length: 2 }, () => `by=${S3},team=team-b,who=a`), "with --scope-namespace");
  t.end();
});

test("knows the namespace of a role whose only selector names one, and denies a role of several selectors", (t) => {
  const inTeamB = selector("b", A, { namespaceSelector: { names: ["team-b"] } });
  t.same(grants([selector("a", A)]).slice(2).map(tagsOf), [`by=${S3},team=team-a`, `by=${S3},team=team-a`]);
  t.same(grants([selector("a", A), inTeamB]).map(tagsOf), [
    `by=${S3},team=team-a`, `by=${S3},team=team-b`, `by=${S3},team=team-a`, OPEN,
  ]);
  const named = readSessionDefaults({
    defaultExternalId: null, defaultSourceIdentity: null, defaultSessionTags: ["who={selector}"],
  });
  for (const grant of grants([selector("a", A), inTeamB], { sessionDefaults: named })) {
    t.match(grantText(grant), /^ERR_SELECTOR_EXTRAS \[a, b\] .* with \{selector\} of --default-session-tags/);
  }
  t.same(grants([selector("a", A)], { sessionDefaults: named }).map(tagsOf).at(-1), "who=a");
  t.end();
});

test("uses the defaults for each field and tag that the selector does not set", (t) => {
  const own = grants([selector("a", A, {}, { "external-id": "own-1", "session-tags": "Team=x" })]);
  t.match(own[0], { extras: { externalID: "own-1", sourceIdentity: "ack" } });
  t.equal(own.map(tagsOf)[0], `Team=x,by=${S3}`);
  t.match(grants([selector("a", A)])[0], { extras: { externalID: "org-1", sourceIdentity: "ack" } });
  t.end();
});

test("denies a role whose tags STS would reject", (t) => {
  const many = Array.from({ length: 49 }, (_, i) => `k${i}=v`).join(",");
  const message = "IAMRoleSelector a has 51 session tags with those of --default-session-tags, but STS allows 50. "
    + "Remove tags.";
  const [tooMany] = grants([selector("a", A, {}, { "session-tags": many })]).map(tagsOf);
  t.equal(tooMany, `ERR_SELECTOR_EXTRAS [a] ${message}`);
  const long = selector("a", A, {}, { "session-tags": `long=${"v".repeat(256)}{group}` });
  t.match(grants([long]).map(tagsOf)[0], /sets the session tag "long", which is too long for STS after its templates/);
  t.end();
});

test("keeps a grant while its role resolves in the namespace of its tags", (t) => {
  const inventory = inventoryOf([selector("a", A, EVERYWHERE, BY_NAME)]);
  const query = { ...ANYWHERE, sessionDefaults };
  const roles = ["team-a", "team-b"].map((namespace) => {
    const grant = grantInNamespace(inventory, { ...TEAM_A, sessionDefaults, namespace });
    return grant.verdict === "role" ? grant : null;
  });
  const areGranted = (): boolean[] => roles.map((role) => role !== null && isStillGranted(inventory, role, query));
  t.same(areGranted(), [true, true]);
  inventory.apply([removal("", "Namespace", "team-b")]);
  t.same(areGranted(), [true, false]);
  inventory.apply([put(selector("a", B, EVERYWHERE, BY_NAME))]);
  t.same(areGranted(), [false, false]);
  t.end();
});

test("denies a session policy whose templates have no value, or that they make too long", (t) => {
  const statement = (Resource: string): string => (
    JSON.stringify({ Statement: { Effect: "Allow", Action: "*", Resource } })
  );
  const open = selector("a", A, EVERYWHERE, { "session-policy": statement("arn:aws:s3:::{namespace}") });
  const [inTeamA, , byName] = grants([open], { sessionDefaults: NO_EXTRAS });
  t.match(inTeamA, { verdict: "role", extras: { policy: statement("arn:aws:s3:::team-a") } });
  t.match(byName, { verdict: "denied", message: /has a session policy with \{namespace\}, but the request/ });
  const long = selector("a", A, EVERYWHERE, {
    "session-policy": statement(`arn:aws:s3:::${"{namespace}".repeat(170)}`),
  });
  const inLong = grantInNamespace(inventoryOf([long]), { ...TEAM_A, sessionDefaults, namespace: "team-b" });
  t.match(inLong, { verdict: "role" }, "a short name");
  const many = selector("a", A, EVERYWHERE, { "session-policy": statement(`arn:aws:s3:::${"{group}".repeat(280)}`) });
  const [tooLong] = grants([many], { sessionDefaults: NO_EXTRAS });
  t.match(tooLong, { verdict: "denied", message: /has session policies that STS rejects: .* Shorten/ });
  t.end();
});

test("a session ends its refresh when its settings change", (t) => {
  const limited = (scope: string): JsonObject => selector("a", A, EVERYWHERE, { "session-scope": scope });
  const inventory = inventoryOf([limited("none")]);
  const query = { ...TEAM_A, sessionDefaults: NO_EXTRAS };
  const grant = grantInNamespace(inventory, query);
  if (grant.verdict !== "role") throw new Error("no role");
  const anywhere = { ...ANYWHERE, sessionDefaults: NO_EXTRAS };
  t.ok(isStillGranted(inventory, grant, anywhere));
  inventory.apply([put(limited("service"))]);
  t.notOk(isStillGranted(inventory, grant, anywhere), "narrowed");
  t.end();
});
