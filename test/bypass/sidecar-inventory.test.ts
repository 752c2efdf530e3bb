import { INVENTORY_KINDS } from "../../shared/kinds.ts";
import { SELECTORS } from "../../shared/ack/selectors.ts";

// Attacks by users that write IAMRoleSelectors or Namespaces. Each test expects that the sidecar limits its work and
// memory, and still serves other selectors.
import { type Test, test } from "tap";
import { NO_EXTRAS } from "../../shared/core/session.ts";
import { grantInNamespace, grantRole } from "../../shared/core/grant-decision.ts";
import { Inventory } from "../../shared/core/inventory.ts";
import type { JsonObject } from "../../shared/formats/json.ts";
import { namespaceObject, put, removal, selectorObject, SETTINGS_BY_DEFAULT } from "../shared/objects.ts";
import { ROLE_A, SCOPED, SidecarUnderTest, TEAM_A } from "../sidecar/sidecar-under-test.ts";
import { Attack } from "./attack.ts";

const TAGS = "ack-role-resolver.io/session-tags";
const HOSTILE_ROLE = "arn:aws:iam::111111111111:role/hostile";

function hostile(spec: JsonObject, annotations: JsonObject = {}): JsonObject {
  const object = selectorObject("hostile", { arn: HOSTILE_ROLE, ...spec });
  return { ...object, metadata: { name: "hostile", annotations } };
}

async function messageOf(t: Test, object: JsonObject): Promise<string> {
  const sidecar = new SidecarUnderTest({ objects: [namespaceObject("team-a"), TEAM_A, object] });
  const { statusCode, body } = await sidecar.get("/v1/credentials/selectors/hostile");
  t.equal(statusCode, 403);
  t.equal((await sidecar.get("/v1/credentials/selectors/team-a")).statusCode, 200, "other selectors are granted");
  return body;
}

test("denies a selector whose session tag repeats the template of a very long account ID", async (t) => {
  const long = "a".repeat(2_500_000);
  for (const object of [
    hostile({ namespaceSelector: { names: [long] } }, { [TAGS]: `k=${"{namespace}".repeat(2_900)}` }),
    hostile(
      { resourceTypeSelector: [{ group: "s3.services.k8s.aws", kind: long }] },
      { [TAGS]: `k=${"{kind}".repeat(5_000)}` },
    ),
  ]) {
    const message = await messageOf(t, object);
    t.match(message, /ERR_SELECTOR_MALFORMED/);
    t.ok(message.length < 20_000, `the message has ${message.length} characters`);
  }
});

test("limits responses and log lines if thousands of selectors conflict", async (t) => {
  const objects = Array.from({ length: 3_000 }, (_, i) => (
    selectorObject(`hostile-${i}`, { arn: HOSTILE_ROLE, namespaceSelector: { names: ["team-a"] } })
  ));
  const attack = new Attack({ objects: [namespaceObject("team-a"), ...objects], ...SCOPED });
  for (let i = 0; i < 20; i++) {
    const { statusCode, body } = await attack.get(`/v1/credentials/namespaces/team-a?label=a=${i}`);
    t.equal(statusCode, 409);
    t.ok(body.length < 2_000, `the response has ${body.length} characters`);
  }
  const lengths = attack.sidecar.logLines.map((line) => line.length);
  t.ok(Math.max(...lengths) < 3_000, `the longest line has ${Math.max(...lengths)} characters`);
});

test("drops a namespace that has more labels than the limit, and grants no role in it", async (t) => {
  const large = { ...namespaceObject("team-a"), metadata: { name: "team-a", labels: labels(100_000) } };
  const inventory = new Inventory({ runtime: "ack", origin: "cluster", isForGrants: true }, INVENTORY_KINDS);
  inventory.apply([namespaceObject("team-a"), TEAM_A, large].map(put));
  t.equal(inventory.namespaces.withLabel("l1", "").size, 0, "no label is stored");
  const decision = { settings: SETTINGS_BY_DEFAULT, sessionDefaults: NO_EXTRAS };
  const query = { groups: ["s3.services.k8s.aws"], kinds: [], ...decision };
  const message = /^Namespace "team-a" exceeds a limit of the sidecar, such as 1000 labels\. Remove/;
  const denied = { verdict: "denied", code: "ERR_NAMESPACE_UNKNOWN", message };
  const resource = { ...query, namespace: "team-a", labels: null, unmatched: "base" } as const;
  t.match(grantInNamespace(inventory, resource), denied, "not the base identity");
  t.match(grantRole(inventory, ROLE_A, { ...query, scope: "team-a" }), denied);
  inventory.apply([put(namespaceObject("team-a"))]);
  t.match(grantInNamespace(inventory, resource), { verdict: "role" });
  inventory.apply([put(large), removal("", "Namespace", "team-a")]);
  t.match(grantInNamespace(inventory, resource), { message: /is not in the inventory/ });
});

test("an inventory that is loaded only for grants does not store the complete objects of selectors", (t) => {
  const inventory = new Inventory({ runtime: "ack", origin: "cluster", isForGrants: true }, INVENTORY_KINDS);
  inventory.apply([put(hostile({ x: Array.from({ length: 50_000 }, () => ({})) }))]);
  t.match(inventory.of(SELECTORS).faulty.get("hostile"), { roleARN: HOSTILE_ROLE, object: {} });
  t.same(inventory.of(SELECTORS).faulty.get("hostile")?.object, {});
  t.end();
});

function labels(count: number): JsonObject {
  return Object.fromEntries(Array.from({ length: count }, (_, i) => [`l${i}`, ""]));
}
