import { test } from "tap";
import { field, type JsonObject, stringAt } from "../../../shared/formats/json.ts";
import {
  ACCOUNT_MAP, bucketObject, existingBucket, FIRST, mapObject, namespaceObject, roleIn,
} from "../../shared/objects.ts";
import { objectAt, reviewOf } from "../reviews.ts";
import { FakeSource, type WebhookUnderTest, webhookUnderTest } from "../webhook-under-test.ts";

const OWNER = { "services.k8s.aws/owner-account-id": FIRST };
const OWNED = namespaceObject("team-a", {}, OWNER);

function webhook(role: string): WebhookUnderTest {
  const objects = [mapObject(ACCOUNT_MAP, { [FIRST]: role }), OWNED, existingBucket("b1", FIRST)];
  return webhookUnderTest(new FakeSource(objects), { mode: "carm", runtime: "ack" });
}

async function post(path: string, role: string, review: unknown): Promise<JsonObject> {
  return objectAt((await webhook(role).post(path, review)).json, "response");
}

test("denies a namespace that loses or empties the annotation that chooses the role of a bucket", async (t) => {
  for (const annotations of [{}, { "services.k8s.aws/owner-account-id": "" }]) {
    const namespace = namespaceObject("team-a", {}, annotations);
    const review = reviewOf(namespace, { operation: "UPDATE", oldObject: OWNED });
    const response = await post("/validate/namespaces", roleIn(FIRST), review);
    t.equal(response["allowed"], false);
    t.match(stringAt(response, "status", "message"), `NS-04 metadata.annotations[services.k8s.aws/owner-account-id]: `
      + `the change removes the role of 1 resource in account ${FIRST}: Bucket team-a/b1. `);
  }
});

test("records that a CARM value which is not the ARN of a role is refused, and warns", async (t) => {
  const root = `arn:aws:iam::${FIRST}:root`;
  const review = reviewOf(bucketObject({ name: "b2" }));
  const mutated = await post("/mutate/resources", root, review);
  const patch = Buffer.from(String(mutated["patch"]), "base64").toString();
  t.match(patch, '"refused"');
  t.match(patch, "is not the ARN of an IAM role, so controllers cannot assume it.");
  t.notMatch(patch, "ack-role-resolver.io~1role-arn");
  const validated = await post("/validate/resources", root, review);
  t.equal(validated["allowed"], true);
  t.match(field(validated, "warnings"), [/^ACK-03 /]);
});
