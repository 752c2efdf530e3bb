import type { JsonObject } from "../../shared/formats/json.ts";
import { objectAt, reviewOf } from "../webhook/reviews.ts";
import type { WebhookUnderTest } from "../webhook/webhook-under-test.ts";

/** Maps each kind to its validating path. */
const PATHS: Readonly<Record<string, string>> = {
  IAMRoleSelector: "/validate/iamroleselectors", Bucket: "/validate/resources", Namespace: "/validate/namespaces",
  ConfigMap: "/validate/configmaps", FieldExport: "/validate/fieldexports", AWSCluster: "/validate/clusters",
  CustomResourceDefinition: "/validate/iamroleselectors", AdoptedResource: "/validate/adoptedresources",
};

/** Sends a review. Returns the codes of the denial, or "allowed" and the codes of the warnings. */
export async function answerTo(review: JsonObject, server: Pick<WebhookUnderTest, "post">): Promise<string> {
  const path = PATHS[String(objectAt(review, "request", "kind")["kind"])] ?? "";
  const response = objectAt((await server.post(path, review)).json, "response");
  const { allowed, warnings = [] } = response;
  const lines = allowed === true ? warnings : String(objectAt(response, "status")["message"]).split("\n");
  const codes = Array.isArray(lines) ? [...new Set(lines.map((line) => String(line).split(/[ :]/, 1)[0]))] : [];
  return allowed === true ? ["allowed", ...codes].join(" ") : codes.join();
}

/** Returns the review of an update. */
export function update(object: JsonObject, oldObject: JsonObject, request: JsonObject = {}): JsonObject {
  return reviewOf(object, { operation: "UPDATE", oldObject, ...request });
}
