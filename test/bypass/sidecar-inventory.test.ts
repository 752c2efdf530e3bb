// Attacks by users that write IAMRoleSelectors or Namespaces. Each test expects that the sidecar limits its work and
// memory, and still serves other selectors.
import { type Test, test } from "tap";
import type { JsonObject } from "../../shared/decisions/kubernetes/json.ts";
import { namespaceObject, selectorObject } from "../shared/decisions/objects.ts";
import { SCOPED, SidecarUnderTest, TEAM_A } from "../sidecar/sidecar-under-test.ts";
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

test("denies a selector whose session tag repeats a template with a very long value", async (t) => {
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
