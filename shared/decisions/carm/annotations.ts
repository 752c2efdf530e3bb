import { OWNER_ACCOUNT_ANNOTATION, PROPOSED_TEAM_ANNOTATION, TEAM_ANNOTATION } from "../annotation-keys.ts";
import type { DecisionSettings } from "../context.ts";

/** Controllers ignore what is annotated on these (aws-controllers-k8s/runtime pkg/runtime/cache/namespace.go). */
export const IGNORED_NAMESPACES: ReadonlySet<string> = new Set(["kube-system", "kube-public", "kube-node-lease"]);

const NO_ANNOTATIONS: ReadonlyMap<string, string> = new Map();

/** Returns the annotations that CARM reads on a namespace: none on the namespaces that it ignores. */
export function carmAnnotations(namespace: string, annotations: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  return IGNORED_NAMESPACES.has(namespace) ? NO_ANNOTATIONS : annotations;
}

export function teamOf(annotations: ReadonlyMap<string, string>, { runtime }: Pick<DecisionSettings, "runtime">): string {
  const team = annotations.get(TEAM_ANNOTATION) ?? "";
  return team === "" && runtime === "extended" ? (annotations.get(PROPOSED_TEAM_ANNOTATION) ?? "") : team;
}

/** Whether a namespace with these annotations asks for CARM at all. */
export function namesOwner(annotations: ReadonlyMap<string, string>, context: Pick<DecisionSettings, "runtime">): boolean {
  return (annotations.get(OWNER_ACCOUNT_ANNOTATION) ?? "") !== "" || teamOf(annotations, context) !== "";
}
