import { AUDIT_CHECKS } from "./audit-checks.ts";
import type { Check, CheckEntry, SelectorChange } from "./check.ts";
import type { ConfigMapChange } from "./config-map-change.ts";
import { CM_04, CM_13 } from "./config-map-keys.ts";
import { CM_07, CM_07B, CM_09, CM_12 } from "./config-map-place.ts";
import { CM_08, CM_10, CM_11 } from "./config-map-removal.ts";
import { CM_01, CM_02, CM_03, CM_05, CM_06 } from "./config-map-values.ts";
import { ACK_34, IRS_34, type KindRemoval } from "./kind-removal.ts";
import { NS_03, NS_03B, NS_05, NS_05B, NS_06, NS_11 } from "./namespace-carm.ts";
import type { NamespaceChange } from "./namespace-change.ts";
import { NS_13 } from "./namespace-delete.ts";
import { NS_08, NS_08B } from "./namespace-endpoint.ts";
import { NS_01, NS_02 } from "./namespace-labels.ts";
import { NS_04 } from "./namespace-owner.ts";
import { NS_09, NS_09B, NS_10 } from "./namespace-policy.ts";
import { NS_07, NS_07B } from "./namespace-region.ts";
import { IRS_04, IRS_05, IRS_23 } from "./selector-account.ts";
import { ACK_07, ACK_08, ACK_18 } from "./resource-account.ts";
import { ACK_12, ACK_17 } from "./resource-adoption.ts";
import { ACK_02, ACK_11, ACK_13, ACK_14, ACK_15, ACK_20 } from "./resource-annotations.ts";
import type { ResourceChange } from "./resource-change.ts";
import { ACK_30, ACK_31, ACK_32, ACK_33 } from "./resource-deletion.ts";
import { ACK_16 } from "./resource-references.ts";
import { ACK_10, ACK_10B } from "./resource-region.ts";
import { ACK_03, ACK_04, ACK_05, ACK_05B, ACK_06, ACK_09, ACK_19, ACK_19B } from "./resource-selection.ts";
import { SELECTOR_CHECKS } from "./selector-checks.ts";
import { IRS_17, IRS_18 } from "./selector-conflicts.ts";
import { IRS_13 } from "./selector-installed.ts";
import { IRS_26 } from "./selector-mode.ts";
import { IRS_19, IRS_20, IRS_21 } from "./selector-moves.ts";
import { IRS_10, IRS_22 } from "./selector-reach.ts";
import { IRS_30, IRS_31, IRS_32, IRS_33 } from "./selector-removal.ts";
import { IRS_40 } from "./selector-shared-role.ts";
import { IRS_07, IRS_16 } from "./selector-stored.ts";
import { IRS_24, IRS_25, IRS_27 } from "./selector-trust.ts";

/** The checks of a step of an IAMRoleSelector against all that is known. */
export const SELECTOR_CHANGE_CHECKS: readonly Check<SelectorChange>[] = [
  IRS_04, IRS_05, IRS_07, IRS_10, IRS_13, IRS_16, IRS_17, IRS_18, IRS_19, IRS_20, IRS_21, IRS_22, IRS_23, IRS_24, IRS_25, IRS_26,
  IRS_27, IRS_30, IRS_31, IRS_32, IRS_33, IRS_40,
];

/** The checks of a step of an ACK resource. */
export const RESOURCE_CHECKS: readonly Check<ResourceChange>[] = [
  ACK_02, ACK_03, ACK_04, ACK_05, ACK_05B, ACK_06, ACK_07, ACK_08, ACK_09, ACK_10, ACK_10B, ACK_11, ACK_12, ACK_13, ACK_14, ACK_15, ACK_16,
  ACK_17, ACK_18, ACK_19, ACK_19B, ACK_20, ACK_30, ACK_31, ACK_32, ACK_33,
];

/** The checks of a step of a Namespace. */
export const NAMESPACE_CHECKS: readonly Check<NamespaceChange>[] = [
  NS_01, NS_02, NS_03, NS_03B, NS_04, NS_05, NS_05B, NS_06, NS_07, NS_07B, NS_08, NS_08B, NS_09, NS_09B, NS_10, NS_11, NS_13,
];

/** The checks of a step of one of the CARM ConfigMaps. */
export const CONFIG_MAP_CHECKS: readonly Check<ConfigMapChange>[] = [
  CM_01, CM_02, CM_03, CM_04, CM_05, CM_06, CM_07, CM_07B, CM_08, CM_09, CM_10, CM_11, CM_12, CM_13,
];

/** The checks of the removal of a CustomResourceDefinition. */
export const KIND_REMOVAL_CHECKS: readonly Check<KindRemoval>[] = [IRS_34, ACK_34];

/** All of them, in the order of the documents. */
export const CATALOGUE: readonly CheckEntry[] = [
  ...SELECTOR_CHECKS, ...SELECTOR_CHANGE_CHECKS, IRS_34, ...RESOURCE_CHECKS, ACK_34, ...NAMESPACE_CHECKS, ...CONFIG_MAP_CHECKS, ...AUDIT_CHECKS,
];

/** Every id that `--check` and the waiver annotation may name. */
export const CHECK_IDS: ReadonlySet<string> = new Set(CATALOGUE.map((check) => check.id));
