import { test } from "tap";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { clusterObject, controllerIdentity, identityObject, roleIdentity } from "../../shared/capa-objects.ts";
import { namespaceObject, selectorObject } from "../../shared/objects.ts";
import { reviewOf } from "../reviews.ts";
import { FakeSource, webhookUnderTest } from "../webhook-under-test.ts";

const STORED = [namespaceObject("ns1"), controllerIdentity({ list: [] }), roleIdentity("r")];
const MALFORMED = identityObject("AWSClusterRoleIdentity", "x", { roleARN: "not-an-arn" });
const TOO_LARGE = roleIdentity("x", "controller", { list: Array.from({ length: 50_001 }, () => "a") });
const DELETION = { operation: "DELETE", object: null, oldObject: roleIdentity("r") };

/** Reviews of CAPA objects. The webhook denies each validated one, except the deletion, if it has CAPA. */
const REVIEWS: readonly (readonly [path: string, review: JsonObject])[] = [
  ["/mutate/clusters", reviewOf(clusterObject("c", "role/r"))],
  ["/validate/clusters", reviewOf(clusterObject("c", "role/missing"))],
  ["/validate/identities", reviewOf(MALFORMED)],
  ["/validate/identities", reviewOf({ ...MALFORMED, kind: "AWSClusterRolesIdentity" })],
  ["/validate/identities", reviewOf(TOO_LARGE)],
  ["/validate/identities", reviewOf(roleIdentity("r"), DELETION)],
];

test("without CAPA, the webhook answers reviews of its objects like those of any unknown kind", async (t) => {
  const webhook = webhookUnderTest(new FakeSource(STORED), { without: new Set(["capa"]) });
  const judging = webhookUnderTest(new FakeSource(STORED));
  for (const [path, review] of REVIEWS) {
    t.same((await webhook.post(path, review)).json, {
      apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response: { uid: "u-1", allowed: true },
    }, path);
    t.match(webhook.lines.at(-1), { path, outcome: "skipped", reason: "not managed" });
    await judging.post(path, review);
    t.not(judging.lines.at(-1)?.["reason"], "not managed", "a webhook with CAPA judges it");
  }
});

test("without CAPA, the webhook admits them before it is ready, and still judges the other kinds", async (t) => {
  const source = new FakeSource(STORED);
  source.unload();
  const webhook = webhookUnderTest(source, { without: new Set(["capa"]) });
  t.match((await webhook.post("/mutate/clusters", reviewOf(clusterObject("c", "role/r")))).json, {
    response: { allowed: true },
  });
  const selector = selectorObject("team-a", { arn: "not-an-arn" });
  t.match((await webhook.post("/validate/iamroleselectors", reviewOf(selector))).json, {
    response: { allowed: false, status: { message: /^IRS-02 / } },
  });
});
