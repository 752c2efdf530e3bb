import { byNamespaceController, inSystemNamespace } from "./exemptions.ts";
import { keeping } from "./kept-fields.ts";
import { core, EVERY_WRITE, PAGE, READ } from "./kind-rows.ts";
import type { Kind } from "./kind.ts";
import { NAMESPACES } from "./namespaces.ts";
import { CHANGES_NAMESPACE, NOT_DELETED_AGAIN } from "./conditions.ts";

/** The Namespaces, whose labels and annotations decide roles. */
export const NAMESPACE = {
  id: "namespace", types: ["Namespace."], path: "namespaces",
  isBasic: true, choosesRole: true, warnsOnly: [inSystemNamespace, byNamespaceController],
  served: core("namespaces", "Cluster"),
  reviews: [{
    operations: EVERY_WRITE, subresources: ["status", "finalize"], whenDown: "Ignore", namespaces: "unprotected",
    conditions: [NOT_DELETED_AGAIN, CHANGES_NAMESPACE],
  }],
  watch: {
    pageSize: PAGE,
    keep: keeping({
      metadata: ["name", "labels", "annotations", "deletionTimestamp", "resourceVersion"], status: ["phase"],
    }),
  },
  rights: { reader: READ },
  limit: {
    code: "NS-14", fix: "remove labels and annotations from the namespace",
    example: "a Namespace that has more than 1,000 labels",
  }, store: NAMESPACES,
} as const satisfies Kind;
