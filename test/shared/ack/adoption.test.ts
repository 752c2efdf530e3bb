import { test } from "tap";
import { adoptionOf } from "../../../shared/ack/adoption.ts";
import { bucketObject } from "../objects.ts";

const POLICY = ["services.k8s.aws/adoption-policy", "adopt-or-create"];

test("adopts by the fields of the object, or by those that identify the AWS resource", (t) => {
  const unmanaged = adoptionOf(bucketObject(), "unmanaged");
  t.match(unmanaged.fix, "services.k8s.aws/adoption-policy: adopt-or-create");
  t.same([[...unmanaged.annotations], unmanaged.placeholder], [[POLICY], null]);
  const unidentified = adoptionOf(bucketObject(), "unidentified");
  t.same([...unidentified.annotations], [POLICY, ["services.k8s.aws/adoption-fields", "FIELDS"]]);
  t.match(unidentified.placeholder, "replace FIELDS");
  t.end();
});

test("removes the annotation with which ACK would ignore the policy", (t) => {
  const adopted = bucketObject({ annotations: { "services.k8s.aws/adopted": "true" } });
  t.same([...adoptionOf(adopted, "unmanaged").annotations], [POLICY, ["services.k8s.aws/adopted", null]]);
  t.end();
});

test("does not adopt the bucket of another account", (t) => {
  const { fix, annotations } = adoptionOf(bucketObject(), "foreign");
  t.match(fix, "Choose another name in the spec, or give the resource a role of the account that has the bucket");
  t.equal(annotations.size, 0);
  t.end();
});
