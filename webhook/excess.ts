import type { CheckEntry } from "../shared/decisions/checks/check.ts";
import { ACK_34, IRS_34 } from "../shared/decisions/checks/definitions/deletion.ts";
import { AC_08, ACK_35, CI_34, CM_14, FE_02, NS_14, POD_10 } from "../shared/decisions/checks/any-kind/limits.ts";
import { IRS_48 } from "../shared/decisions/checks/selectors/limits.ts";
import { WAIVER_01 } from "../shared/decisions/checks/any-kind/waiver.ts";
import type { DecisionSettings } from "../shared/decisions/context.ts";
import { isPartKind } from "../shared/decisions/identities/cluster-parts.ts";
import { isIdentityKind, referrerKindOf } from "../shared/decisions/identities/kinds.ts";
import { storedObject } from "../shared/decisions/inventory/stored-object.ts";
import {
  FIELD_EXPORT_KIND, isACKGroup, isCARMMapName, SELECTOR_GROUP, SELECTOR_KIND,
} from "../shared/decisions/kubernetes/kinds.ts";
import { isWarnOnly } from "../shared/decisions/warn-only.ts";
import type { InventorySource } from "../shared/inventory/source.ts";
import type { AdmissionRequest } from "./decode.ts";
import { skipped, type Verdict } from "./handler.ts";

interface ExcessContext {
  readonly source: Pick<InventorySource, "inventory" | "status">;
  readonly settings: DecisionSettings;
}

/**
 * Returns the request to review instead of a DELETE whose object exceeds a limit: the same request with the fields of
 * the object that the inventory contains. Users can thus delete such an object if no other check denies the deletion.
 * Returns null for other requests, and if the inventory does not contain the object.
 */
export function withStoredObject(
  request: AdmissionRequest, { source: { inventory, status } }: ExcessContext,
): AdmissionRequest | null {
  const oldObject = request.operation === "DELETE" && status.loaded ? storedObject(request, inventory) : null;
  return oldObject === null ? null : { ...request, oldObject, excess: null };
}

/**
 * Reviews a request whose objects are unknown, because the request exceeds a limit. Denies the request if the webhook
 * checks objects of this kind and name. Only warns in cases in which the checks only warn, for example if the requester
 * is an ACK controller.
 */
export function reviewExcess(
  request: AdmissionRequest, excess: string, { source: { inventory }, settings }: ExcessContext,
): Verdict {
  const check = limitCheckOf(request);
  if (check === null) return skipped("not managed");
  const severity = isWarnOnly(request, settings, inventory) ? "warn" : "deny";
  const finding = { code: check.id, severity, path: [], message: excess, waivable: false, waived: false } as const;
  // Replaces the fix of a deletion check, because that fix concerns the existing resources and not the size.
  const fix = check === ACK_34 || check === IRS_34 ? ACK_35.fix : check.fix;
  return { outcome: severity === "deny" ? "denied" : "allowed", findings: [{ ...finding, fix }] };
}

/**
 * Returns the check that limits the size of objects of this kind and name, or null if the webhook does not check such
 * objects. The name is "" if a client deletes a collection.
 */
function limitCheckOf(request: AdmissionRequest): CheckEntry | null {
  const { kind: { group, kind }, name } = request;
  switch (`${kind}.${group}`) {
    case `${SELECTOR_KIND}.${SELECTOR_GROUP}`:
      return IRS_48;
    case `${FIELD_EXPORT_KIND}.${SELECTOR_GROUP}`:
      return FE_02;
    case "Namespace.":
      return NS_14;
    case "Pod.":
      return POD_10;
    case "ConfigMap.":
      return name === "" || isCARMMapName(name) ? CM_14 : null;
    case "CustomResourceDefinition.apiextensions.k8s.io":
      return definitionCheckOf(request);
    default:
      return resourceCheckOf(request);
  }
}

/** Returns the check of a CAPA identity, of an object that refers to an identity, or of an ACK resource; else null. */
function resourceCheckOf({ kind, namespace }: AdmissionRequest): CheckEntry | null {
  if (isIdentityKind(kind)) return CI_34;
  if (referrerKindOf(kind) !== null || isPartKind(kind)) return AC_08;
  return isACKGroup(kind.group) && namespace !== "" ? ACK_35 : null;
}

/**
 * Returns the check that applies to the deletion of a CustomResourceDefinition or to a change of its waiver annotation.
 * The name of the definition is `PLURAL.GROUP`.
 */
function definitionCheckOf({ name, operation }: AdmissionRequest): CheckEntry | null {
  const group = name.slice(name.indexOf(".") + 1);
  const isSelectors = group === SELECTOR_GROUP;
  if (!isSelectors && name !== "" && !isACKGroup(group)) return null;
  if (operation !== "DELETE") return WAIVER_01;
  return isSelectors ? IRS_34 : ACK_34;
}
