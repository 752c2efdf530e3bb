import { ADOPTED_ANNOTATION, ADOPTION_FIELDS_ANNOTATION, ADOPTION_POLICY_ANNOTATION } from "../core/annotation-keys.ts";
import type { Finding } from "../core/check.ts";
import { remove, type Repair, set } from "../core/repair.ts";
import { annotationPath, type JsonObject } from "../formats/json.ts";
import { annotationAt } from "../formats/object-meta.ts";
import { type Existing, reportedConditions } from "./resource-conditions.ts";

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
const NOTICE = "Controllers do not notice an annotation, so restart the controller, or change the spec";

const FIXES: Readonly<Record<Existing, string>> = {
  unmanaged: "if the existing AWS resource is that of this object, let ACK adopt it with the annotation "
    + `${ADOPTION_POLICY_ANNOTATION}: adopt-or-create. ${ADOPTING}. ${NOTICE}`,
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
  return reportedConditions(object).flatMap(({ type, text, existing }): Finding[] => (existing === null ? [] : [{
    code: type, severity: "deny", path: CONDITIONS, message: text, fix: FIXES[existing], waivable: false,
    waived: false, repairs: repairsFor(object, existing),
  }]));
}

function repairsFor(object: JsonObject, existing: Existing): readonly Repair[] {
  if (existing === "foreign") return [];
  const isAdopted = annotationAt(object, ADOPTED_ANNOTATION) !== null;
  const edits = [
    set(annotationPath(ADOPTION_POLICY_ANNOTATION), "adopt-or-create"),
    ...(existing === "unidentified" ? [set(annotationPath(ADOPTION_FIELDS_ANNOTATION), FIELDS)] : []),
    ...(isAdopted ? [remove(annotationPath(ADOPTED_ANNOTATION))] : []),
  ];
  return existing === "unidentified" ? [{ when: PLACEHOLDER, edits }] : [{ edits }];
}
