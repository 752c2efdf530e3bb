import { test } from "tap";
import { judgeSelector } from "../../../shared/ack/judge-selector.ts";
import { fillInGrant } from "../../../shared/core/session-annotations.ts";
import { NO_EXTRAS, type SessionExtras } from "../../../shared/core/session.ts";
import { ROLE, selectorObject } from "../objects.ts";

function extrasOf(annotations: Readonly<Record<string, unknown>>, spec: object = {}): SessionExtras | undefined {
  const object = selectorObject("team-a", { arn: ROLE, ...spec }, { annotations });
  return judgeSelector(object, { origin: "file", runtime: "ack" }).effective?.extras;
}

test("returns no session settings for a selector without session annotations", async (t) => {
  t.equal(extrasOf({}), NO_EXTRAS);
  t.equal(extrasOf({ "example.com/external-id": "x", "ack-role-resolver.io/replaces": "b" }), NO_EXTRAS);
});

test("reads each session annotation and fills in every template that does not depend on the grant", async (t) => {
  const annotations = {
    "ack-role-resolver.io/external-id": "id-1",
    "ack-role-resolver.io/session-name": "ack-a",
    "ack-role-resolver.io/source-identity": "source",
    "ack-role-resolver.io/duration-seconds": "1800",
    "ack-role-resolver.io/session-policy": '{ "Statement": { "Resource": "arn:aws:s3:::{namespace}-{group}" } }',
    "ack-role-resolver.io/session-policy-arns": "arn:b, arn:a",
    "ack-role-resolver.io/session-scope": "service",
    "ack-role-resolver.io/session-tags":
      "who = {selector} , account={account},ns={namespace}/{namespace},kind={kind},group={group},expr=a=b",
  };
  const spec = { namespaceSelector: { names: ["a"] }, resourceTypeSelector: [{ kind: "Bucket" }] };
  t.strictSame(extrasOf(annotations, spec), {
    externalID: "id-1",
    sessionName: "ack-a",
    sourceIdentity: "source",
    durationSeconds: 1800,
    policy: '{"Statement":{"Resource":"arn:aws:s3:::a-{group}"}}',
    policyARNs: ["arn:a", "arn:b"],
    scope: "service",
    tags: [
      { key: "account", value: "111122223333" },
      { key: "expr", value: "a=b" },
      { key: "group", value: "{group}" },
      { key: "kind", value: "Bucket" },
      { key: "ns", value: "a/a" },
      { key: "who", value: "team-a" },
    ],
  });
  const shared = extrasOf(annotations, { ...spec, namespaceSelector: { names: ["a", "b"] } });
  t.match(shared?.tags[4], { key: "ns", value: "{namespace}/{namespace}" }, "two namespaces");
  t.strictSame(extrasOf({ "ack-role-resolver.io/session-name": "ack-a" }), { ...NO_EXTRAS, sessionName: "ack-a" });
});

test("reads an external ID and tags even if they exceed their limits", async (t) => {
  t.match(
    extrasOf({
      "ack-role-resolver.io/external-id": "a b",
      "ack-role-resolver.io/duration-seconds": "1h",
      "ack-role-resolver.io/session-tags": "a,b={none}",
    }),
    {
      externalID: "a b",
      durationSeconds: null,
      tags: [
        { key: "a", value: "" },
        { key: "b", value: "" },
      ],
    },
  );
});

test("fills in the templates that depend on the grant, once, and keeps those without a value", async (t) => {
  const valuesOf = (value: string): (string | undefined)[] => {
    const extras: SessionExtras = { ...NO_EXTRAS, tags: [{ key: "a", value }, { key: "b", value: "plain" }] };
    const templates = { selector: "{account}", account: "1", group: "s3 rds", namespace: null };
    return fillInGrant(extras, templates).tags.map((tag) => tag.value);
  };
  t.same(valuesOf("of {group}, {group}"), ["of s3 rds, s3 rds", "plain"]);
  t.same(valuesOf("{selector}/{namespace}"), ["{account}/{namespace}", "plain"]);
  t.equal(fillInGrant(NO_EXTRAS, { selector: "a", account: "1", group: "s3", namespace: null }), NO_EXTRAS);
});
