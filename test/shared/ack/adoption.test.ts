import { test } from "tap";
import { existenceFindings } from "../../../shared/ack/adoption.ts";
import { applyEdits } from "../../../shared/core/repair.ts";
import { type JsonObject, valueAt } from "../../../shared/formats/json.ts";
import { bucketObject } from "../objects.ts";

const POLICY = { "services.k8s.aws/adoption-policy": "adopt-or-create" };

interface Adopted {
  readonly fix: string | undefined;
  readonly when: string | undefined;
  /** The annotations after the repair; null without one. */
  readonly annotations: unknown;
}

function adopted(message: string, annotations: JsonObject = {}): Adopted {
  const conditions = [{ type: "ACK.Terminal", status: "True", message }];
  const object = bucketObject({ annotations }, { status: { conditions } });
  const [finding] = existenceFindings(object);
  const [repair] = finding?.repairs ?? [];
  const after = valueAt(applyEdits(object, repair?.edits ?? []), ["metadata", "annotations"]);
  return { fix: finding?.fix, when: repair?.when, annotations: repair === undefined ? null : after };
}

test("adopts by the fields of the object, or by those that identify the AWS resource", (t) => {
  t.match(adopted("Resource already exists"), {
    fix: "services.k8s.aws/adoption-policy: adopt-or-create", when: undefined, annotations: POLICY,
  });
  t.match(adopted("EntityAlreadyExists: a role of this name exists"), {
    when: /^replace ARN/, annotations: { ...POLICY, "services.k8s.aws/adoption-fields": '{"arn":"ARN"}' },
  });
  t.end();
});

test("removes the annotation with which ACK would ignore the policy", (t) => {
  t.same(adopted("Resource already exists", { "services.k8s.aws/adopted": "true" }).annotations, POLICY);
  t.end();
});

test("does not adopt the bucket of another account, and says nothing of other conditions", (t) => {
  const { fix, annotations } = adopted("BucketAlreadyExists: taken");
  t.match(fix, "Choose another name in the spec, or give the resource a role of the account that has the bucket");
  t.equal(annotations, null);
  t.equal(adopted("AccessDenied").fix, undefined);
  t.end();
});
