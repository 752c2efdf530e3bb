import { test } from "tap";
import { namespaceObject, put, selectorObject } from "../../shared/decisions/objects.ts";
import { BASE_SECRET, ROLE_A, SidecarUnderTest } from "../sidecar-under-test.ts";

test("what is annotated on a selector reaches STS, and from a session no longer one than an hour is asked for", async (t) => {
  const annotations = {
    "ack-role-resolver.io/external-id": "id-1", "ack-role-resolver.io/session-name": "team-a-session", "ack-role-resolver.io/source-identity": "source",
    "ack-role-resolver.io/session-tags": "for={group}", "ack-role-resolver.io/duration-seconds": "7200",
  };
  const objects = [namespaceObject("team-a"), selectorObject("team-a", { arn: ROLE_A, namespaceSelector: { names: ["team-a"] } }, { annotations })];
  const extras = { externalID: "id-1", sessionName: "team-a-session", sourceIdentity: "source", tags: [{ key: "for", value: "s3.services.k8s.aws" }] };
  const chained = new SidecarUnderTest({ objects });
  for (const path of ["selectors/team-a", "namespaces/team-a"]) t.equal((await chained.get(`/v1/credentials/${path}`)).statusCode, 200);
  t.match(chained.stsCalls, [{ roleARN: ROLE_A, ...extras, durationSeconds: 3600 }]);
  t.equal(chained.stsCalls.length, 1, "one session for both paths");
  chained.inventory.apply([put(selectorObject("team-a", { arn: ROLE_A, namespaceSelector: { names: ["team-a"] } }, { annotations: { ...annotations, "ack-role-resolver.io/duration-seconds": "43200" } }))]);
  t.equal((await chained.get("/v1/credentials/selectors/team-a")).statusCode, 200);
  t.equal(chained.stsCalls.length, 1, "and one for whatever is cut to the same");
  const longLived = new SidecarUnderTest({ objects, base: async () => ({ accessKeyID: "AKIA", secretAccessKey: BASE_SECRET, sessionToken: null, expirationMs: null }) });
  t.equal((await longLived.get("/v1/credentials/selectors/team-a")).statusCode, 200);
  t.match(longLived.stsCalls, [{ ...extras, durationSeconds: 7200 }]);
});

test("selectors of one role that ask for different sessions of it get none, and no external ID is told", async (t) => {
  const annotated = (name: string, externalID: string): ReturnType<typeof selectorObject> =>
    selectorObject(name, { arn: ROLE_A, namespaceSelector: { names: [name] } }, { annotations: { "ack-role-resolver.io/external-id": externalID } });
  const sidecar = new SidecarUnderTest({ objects: [namespaceObject("team-a"), annotated("team-a", "planted-id-1"), annotated("team-b", "planted-id-2")] });
  for (const path of ["selectors/team-a", "selectors/team-b", "namespaces/team-a"]) {
    const answer = await sidecar.get(`/v1/credentials/${path}`);
    t.match([answer.statusCode, answer.json()], [403, { code: "ERR_SELECTOR_EXTRAS" }], path);
    t.notMatch(answer.body, "planted-id");
  }
  t.notMatch(sidecar.logLines.join("\n"), "planted-id");
  t.equal(sidecar.stsCalls.length, 0);
});
