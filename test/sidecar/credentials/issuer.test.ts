import { test } from "tap";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { namespaceObject, put, selectorObject } from "../../shared/objects.ts";
import { BASE_SECRET, ROLE_A, SidecarUnderTest } from "../sidecar-under-test.ts";

function selector(name: string, annotations: Readonly<Record<string, string>>): JsonObject {
  return selectorObject(name, { arn: ROLE_A, namespaceSelector: { names: [name] } }, { annotations });
}

test("sends the session annotations of a selector to STS, and limits role chaining sessions to one hour", async (t) => {
  const annotations = {
    "ack-role-resolver.io/external-id": "id-1", "ack-role-resolver.io/session-name": "team-a-session",
    "ack-role-resolver.io/source-identity": "source", "ack-role-resolver.io/session-tags": "for={group}",
    "ack-role-resolver.io/duration-seconds": "7200",
  };
  const objects = [namespaceObject("team-a"), selector("team-a", annotations)];
  const extras = {
    externalID: "id-1", sessionName: "team-a-session", sourceIdentity: "source",
    tags: [{ key: "for", value: "s3.services.k8s.aws" }],
  };
  const chained = new SidecarUnderTest({ objects });
  for (const path of ["selectors/team-a", "namespaces/team-a"]) {
    t.equal((await chained.get(`/v1/credentials/${path}`)).statusCode, 200);
  }
  t.match(chained.stsCalls, [{ roleARN: ROLE_A, ...extras, durationSeconds: 3600 }]);
  t.equal(chained.stsCalls.length, 1, "both paths share one session");
  const longer = { ...annotations, "ack-role-resolver.io/duration-seconds": "43200" };
  chained.inventory.apply([put(selector("team-a", longer))]);
  t.equal((await chained.get("/v1/credentials/selectors/team-a")).statusCode, 200);
  t.equal(chained.stsCalls.length, 1, "durations that are limited to the same value share one session");
  const base = { accessKeyID: "AKIA", secretAccessKey: BASE_SECRET, sessionToken: null, expirationMs: null };
  const longLived = new SidecarUnderTest({ objects, base: async () => base });
  t.equal((await longLived.get("/v1/credentials/selectors/team-a")).statusCode, 200);
  t.match(longLived.stsCalls, [{ ...extras, durationSeconds: 7200 }]);
});
