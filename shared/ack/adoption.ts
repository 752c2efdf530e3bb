import { ADOPTED_ANNOTATION, ADOPTION_FIELDS_ANNOTATION, ADOPTION_POLICY_ANNOTATION } from "../core/annotation-keys.ts";
import type { Finding } from "../core/check.ts";
import { remove, type Repair, set } from "../core/repair.ts";
import { annotationPath, type JsonObject } from "../formats/json.ts";
import { annotationAt } from "../formats/object-meta.ts";
import { type Existing, reportedConditions } from "./resource-conditions.ts";

const POLICY = "adopt-or-create";

/** Stands for what identifies the AWS resource. */
const FIELDS = '{"arn":"ARN"}';

const PLACEHOLDER = 'replace ARN, or the whole of it by what identifies the resource, such as {"vpcID":"ID"}';
const CONDITIONS = ["status", "conditions"] as const;

const ADOPTING = "ACK then changes it to match the spec, and deletes it when the object is deleted";
/**
 * Annotations do not change the generation of an object, which is all that the event filter of the runtime sees, and a
 * terminal resource is not requeued. A started controller reconciles every object. Source: aws-controllers-k8s/runtime
 * pkg/runtime/reconciler.go, BindControllerManager (GenerationChangedPredicate) and HandleReconcileError.
 */
export const NOTICE = "Controllers do not notice an annotation, so restart the controller, or change the spec";

/** The fix of an object whose annotations let ACK adopt. */
const ANNOTATED = `its annotation lets ACK adopt the AWS resource. ${NOTICE}`;

const FIXES: Readonly<Record<Existing, string>> = {
  unmanaged: "if the existing AWS resource is that of this object, let ACK adopt it with the annotation "
    + `${ADOPTION_POLICY_ANNOTATION}: ${POLICY}. ${ADOPTING}. ${NOTICE}`,
  unidentified: "choose another name in the spec, or if the existing AWS resource is that of this object, let ACK "
    + `adopt it. ${ADOPTING}. ${NOTICE}`,
  foreign: "another account has a bucket of this name. Choose another name in the spec, or give the resource a role of "
    + "the account that has the bucket",
};

/**
 * Returns the conditions that say that what the object describes exists in AWS already, and how ACK adopts it.
 *
 * `adopt-or-create` reads the resource as before, by the fields of the object, adds the finalizer and keeps the spec.
 * `adopt` needs adoption-fields, and replaces the spec by what AWS has. Both are ignored if the annotation `adopted` is
 * true. An identifier that AWS chose is in the status: `adopt-or-create` takes only the status from adoption-fields.
 * Source: aws-controllers-k8s/runtime pkg/runtime/reconciler.go, Sync and handlePopulation; pkg/runtime/util.go,
 * NeedAdoption.
 */
export function existenceFindings(object: JsonObject): readonly Finding[] {
  return reportedConditions(object).flatMap(({ type, text, existing }): Finding[] => {
    if (existing === null) return [];
    const repairs = repairsFor(object, existing);
    const isAnnotated = existing !== "foreign" && repairs.length === 0;
    return [{
      code: type, severity: "deny", path: CONDITIONS, message: text, fix: isAnnotated ? ANNOTATED : FIXES[existing],
      waivable: false, waived: false, repairs,
    }];
  });
}

function repairsFor(object: JsonObject, existing: Existing): readonly Repair[] {
  if (existing === "foreign") return [];
  const lacksPolicy = annotationAt(object, ADOPTION_POLICY_ANNOTATION) !== POLICY;
  const lacksFields = existing === "unidentified" && annotationAt(object, ADOPTION_FIELDS_ANNOTATION) === null;
  const isAdopted = annotationAt(object, ADOPTED_ANNOTATION) !== null;
  const edits = [
    ...(lacksPolicy ? [set(annotationPath(ADOPTION_POLICY_ANNOTATION), POLICY)] : []),
    ...(lacksFields ? [set(annotationPath(ADOPTION_FIELDS_ANNOTATION), FIELDS)] : []),
    ...(isAdopted ? [remove(annotationPath(ADOPTED_ANNOTATION))] : []),
  ];
  if (edits.length === 0) return [];
  return [{ edits, ...(lacksFields && { when: PLACEHOLDER }) }];
}
