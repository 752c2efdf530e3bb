import { test } from "tap";
import { judgeSelector } from "../../../shared/checks/judge-selector.ts";
import { fillInGroups, tagsTooLong } from "../../../shared/model/session-annotations.ts";
import { NO_EXTRAS, type SessionExtras } from "../../../shared/model/session.ts";
import { ROLE, selectorObject } from "../objects.ts";

function extrasOf(annotations: Readonly<Record<string, unknown>>, spec: object = {}): SessionExtras | undefined {
  const object = selectorObject("team-a", { arn: ROLE, ...spec }, { annotations });
  return judgeSelector(object, { origin: "file", runtime: "ack" }).effective?.extras;
}

test("returns no session settings for a selector without session annotations", async (t) => {
  t.equal(extrasOf({}), NO_EXTRAS);
  t.equal(extrasOf({ "example.com/external-id": "x", "ack-role-resolver.io/replaces": "b" }), NO_EXTRAS);
});

test("reads each session annotation and fills in every template except {group}", async (t) => {
  const annotations = {
    "ack-role-resolver.io/external-id": "id-1",
    "ack-role-resolver.io/session-name": "ack-a",
    "ack-role-resolver.io/source-identity": "source",
    "ack-role-resolver.io/duration-seconds": "1800",
    "ack-role-resolver.io/session-tags":
      "who = {selector} , account={account},ns={namespace}/{namespace},kind={kind},group={group},expr=a=b",
  };
  const spec = { namespaceSelector: { names: ["a"] }, resourceTypeSelector: [{ kind: "Bucket" }] };
  t.strictSame(extrasOf(annotations, spec), {
    externalID: "id-1",
    sessionName: "ack-a",
    sourceIdentity: "source",
    durationSeconds: 1800,
    tags: [
      { key: "account", value: "111122223333" },
      { key: "expr", value: "a=b" },
      { key: "group", value: "{group}" },
      { key: "kind", value: "Bucket" },
      { key: "ns", value: "a/a" },
      { key: "who", value: "team-a" },
    ],
  });
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

test("fills in the groups in sorted order, and returns the tags that become too long", async (t) => {
  const extras: SessionExtras = {
    ...NO_EXTRAS,
    tags: [
      { key: "a", value: "of {group}, {group}" },
      { key: "b", value: "plain" },
    ],
  };
  const filled = fillInGroups(extras, ["s3.services.k8s.aws", "rds.services.k8s.aws"]);
  t.strictSame(filled.tags, [
    { key: "a", value: "of rds.services.k8s.aws s3.services.k8s.aws, rds.services.k8s.aws s3.services.k8s.aws" },
    { key: "b", value: "plain" },
  ]);
  t.same(tagsTooLong(filled), []);
  t.same(
    tagsTooLong(
      fillInGroups(
        extras,
        Array.from({ length: 10 }, (_, i) => `service${i}.services.k8s.aws`),
      ),
    ),
    ["a"],
  );
  t.equal(fillInGroups(NO_EXTRAS, ["s3.services.k8s.aws"]), NO_EXTRAS);
});
