import { ADOPTED_ANNOTATION, ADOPTION_FIELDS_ANNOTATION, ADOPTION_POLICY_ANNOTATION } from "../core/annotation-keys.ts";
import type { JsonObject } from "../formats/json.ts";
import { annotationAt } from "../formats/object-meta.ts";
import type { Existing } from "./resource-conditions.ts";

/** How an object gets the AWS resource that exists already. */
export interface Adoption {
  /** What to do, as an imperative. */
  readonly fix: string;
  /** The annotations to write; null for one to remove. Empty if only the spec or the role can change. */
  readonly annotations: ReadonlyMap<string, string | null>;
  /** What a user must replace in the annotations; null if nothing. */
  readonly placeholder: string | null;
}

/** Stands for what identifies the AWS resource. */
const FIELDS = "FIELDS";

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
 * Returns how the object gets the AWS resource that exists already.
 *
 * `adopt-or-create` reads the resource as before, by the fields of the object, adds the finalizer and keeps the spec.
 * `adopt` needs adoption-fields, and replaces the spec by what AWS has. Both are ignored if the annotation `adopted` is
 * true. An identifier that AWS chose is in the status: `adopt-or-create` takes only the status from adoption-fields.
 * Source: aws-controllers-k8s/runtime pkg/runtime/reconciler.go, Sync and handlePopulation; pkg/runtime/util.go,
 * NeedAdoption.
 */
export function adoptionOf(object: JsonObject, existing: Existing): Adoption {
  const fix = FIXES[existing];
  if (existing === "foreign") return { fix, annotations: new Map(), placeholder: null };
  const annotations = new Map<string, string | null>([[ADOPTION_POLICY_ANNOTATION, "adopt-or-create"]]);
  if (existing === "unidentified") annotations.set(ADOPTION_FIELDS_ANNOTATION, FIELDS);
  if (annotationAt(object, ADOPTED_ANNOTATION) !== null) annotations.set(ADOPTED_ANNOTATION, null);
  const placeholder = existing === "unidentified"
    ? `replace ${FIELDS} by what identifies it, such as {"arn":"ARN"} or {"vpcID":"ID"}` : null;
  return { fix, annotations, placeholder };
}
