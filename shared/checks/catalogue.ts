import { IRS_00_OF_CRD, IRS_16, IRS_51 } from "../ack/selector-crd.ts";
import type { Check, CheckEntry, QuickCheck } from "../core/check.ts";
import { POD_01, POD_02, POD_03, type PodCreation } from "../injection/pod-request.ts";
import { POD_06, POD_07, POD_08 } from "../injection/pod-credentials.ts";
import { POD_04, POD_05, POD_09, POD_11 } from "../injection/pod-sidecar.ts";
import { CI_02, CI_03, CI_04, CI_05, CI_06, CI_08, CI_36 } from "../capa/identity-allowed.ts";
import { CI_20, CI_21, CI_22, CI_23, CI_24, CI_29, CI_35, CI_37 } from "../capa/identity-role.ts";
import { CI_00, CI_09, CI_33 } from "../capa/identity-shape.ts";
import { CI_25, CI_26, CI_27, CI_28 } from "../capa/identity-source.ts";
import { CI_07, CI_30, CI_31 } from "../capa/identity-use.ts";
import { allClosest, listOf, quote } from "../formats/text.ts";
import { CI_01, CI_10, CI_11, type IdentityChange } from "../capa/identity-change.ts";
import {
  ACK_36_OF_NAMESPACES, CM_09_OF_NAMESPACES, NS_03, NS_03_SYNTAX, NS_05, NS_10, NS_16,
} from "../carm/namespace-carm.ts";
import type { NamespaceChange } from "../core/namespace-change.ts";
import { NS_09, NS_12, NS_13, NS_13_OF_CLUSTERS } from "../ack/namespace-deletion.ts";
import { NS_01, NS_02 } from "../ack/namespace-labels.ts";
import { NS_04 } from "../carm/namespace-owner.ts";
import { NS_07, NS_07_OF_ROLES, NS_07B, NS_08, NS_08_HOSTS, NS_17 } from "../ack/namespace-values.ts";
import type { ResourceChange } from "../ack/resource-change.ts";
import { ACK_36 } from "../ack/role-inputs.ts";
import { CM_01, CM_04, CM_12, type ConfigMapChange } from "../carm/carm-map-entries.ts";
import { META_01 } from "../core/any-kind.ts";
import { AC_00, AC_05, type ClusterChange } from "../capa/cluster-reference.ts";
import { AC_01, AC_02, AC_03, AC_04, AC_06, AC_07 } from "../capa/cluster-identity.ts";
import { ACK_02 } from "../ack/forged-annotations.ts";
import {
  ACK_10, ACK_10_OF_DEFAULTS, ACK_11, ACK_12, ACK_13, ACK_15, ACK_17, ACK_20,
} from "../ack/resource-annotations.ts";
import { ACK_37, ACK_38, ACK_39 } from "../ack/resource-crossings.ts";
import { ACK_07, ACK_08, ACK_10B, ACK_30, ACK_31, ACK_32, ACK_40 } from "../ack/resource-drift.ts";
import { ACK_03, ACK_05, ACK_05B, ACK_06, ACK_09 } from "../ack/resource-selection.ts";
import { IRS_04, IRS_04_OF_REGION, IRS_05, IRS_07, IRS_24, IRS_25, IRS_27, IRS_40 } from "../ack/selector-account.ts";
import type { SelectorChange } from "../ack/selector-change.ts";
import { IRS_17, IRS_18 } from "../ack/selector-conflicts.ts";
import { IRS_53 } from "../ack/selector-template.ts";
import { IRS_19, IRS_20, IRS_30, IRS_31 } from "../ack/selector-moves.ts";
import { IRS_13, IRS_52 } from "../ack/selector-kinds.ts";
import { IRS_10, IRS_10_OF_SOME, IRS_22, IRS_26 } from "../ack/selector-reach.ts";
import { CM_07, CM_08, CM_09, CM_15 } from "../carm/carm-map-keys.ts";
import { CM_16 } from "../carm/carm-map-quotes.ts";
import { AUD_15 } from "../controllers/controllers.ts";
import { AUD_16 } from "../injection/pod-profile.ts";
import { ACK_34, DEFINITION_CHECKS, IRS_34 } from "../ack/definitions.ts";
import { ADOPTED_RESOURCE_CHECKS } from "../ack/adopted-resources.ts";
import { FIELD_EXPORT_CHECKS } from "../ack/field-exports.ts";
import { SELECTOR_SELF_CHECKS } from "../ack/judge-selector.ts";
import { limitCheck } from "../core/size-limits.ts";
import { TRUST_CHECKS } from "../trust/role-trust.ts";
import { WAIVER_01 } from "../core/waiver.ts";
import type { DecisionSettings } from "../core/context.ts";
import { ALWAYS_DENYING, OTHER_CHECKS } from "../core/profiles.ts";

/** The checks that run when a Pod that requests a sidecar is created. */
export const POD_CHECKS: readonly QuickCheck<PodCreation>[] = [
  POD_01, POD_02, POD_03, POD_04, POD_05, POD_06, POD_07, POD_08, POD_09, POD_11,
];

/** The checks that run when a CAPA identity changes. */
export const IDENTITY_CHECKS: readonly Check<IdentityChange>[] = [
  CI_00, CI_01, CI_02, CI_03, CI_04, CI_05, CI_06, CI_07, CI_08, CI_09, CI_10, CI_11,
  CI_20, CI_21, CI_22, CI_23, CI_24, CI_25, CI_26, CI_27, CI_28, CI_29, CI_30, CI_31, CI_35, CI_36, CI_37,
];

/** The checks that run when a Namespace changes. */
export const NAMESPACE_CHECKS: readonly Check<NamespaceChange>[] = [
  NS_01, NS_02, NS_03, NS_03_SYNTAX, NS_04, NS_05, NS_07, NS_07_OF_ROLES, NS_07B, NS_08, NS_08_HOSTS, NS_09, NS_10,
  NS_12, NS_13, NS_13_OF_CLUSTERS, NS_16, NS_17, CM_09_OF_NAMESPACES, ACK_36_OF_NAMESPACES,
];

/** The checks that run when a CARM ConfigMap changes. */
export const CONFIG_MAP_CHECKS: readonly Check<ConfigMapChange>[] = [
  CM_01, CM_04, CM_07, CM_08, CM_09, CM_12, CM_15, CM_16,
];

/** The checks that run when an object that refers to a CAPA identity changes. */
export const CLUSTER_CHECKS: readonly QuickCheck<ClusterChange>[] = [
  AC_00, AC_01, AC_02, AC_03, AC_04, AC_05, AC_06, AC_07,
];

/** The checks that run when an ACK resource changes. */
export const RESOURCE_CHECKS: readonly Check<ResourceChange>[] = [
  ACK_02, ACK_03, ACK_05, ACK_05B, ACK_06, ACK_07, ACK_08, ACK_09, ACK_10, ACK_10_OF_DEFAULTS, ACK_10B, ACK_11,
  ACK_12, ACK_13, ACK_15, ACK_17, ACK_20, ACK_30, ACK_31, ACK_32, ACK_36, ACK_37, ACK_38, ACK_39, ACK_40,
];

/** The checks that compare a change of an IAMRoleSelector with the stored selector, the inventory or the settings. */
export const SELECTOR_CHANGE_CHECKS: readonly Check<SelectorChange>[] = [
  IRS_00_OF_CRD,
  IRS_04,
  IRS_04_OF_REGION,
  IRS_05,
  IRS_07,
  IRS_10,
  IRS_10_OF_SOME,
  IRS_13,
  IRS_52,
  IRS_16,
  IRS_17,
  IRS_18,
  IRS_19,
  IRS_20,
  IRS_22,
  IRS_24,
  IRS_25,
  IRS_26,
  IRS_27,
  IRS_30,
  IRS_31,
  IRS_40,
];

/** Every check. Checks of several kinds of objects, such as IRS-00, stand in more than one list. */
const ALL: readonly CheckEntry[] = [
  ...SELECTOR_SELF_CHECKS, ...SELECTOR_CHANGE_CHECKS, IRS_51, IRS_53, IRS_34,
  ...RESOURCE_CHECKS, ...ADOPTED_RESOURCE_CHECKS, ACK_34, limitCheck("resource"),
  ...NAMESPACE_CHECKS, limitCheck("namespace"),
  ...CONFIG_MAP_CHECKS, limitCheck("carm-map"), ...FIELD_EXPORT_CHECKS, limitCheck("field-export"),
  ...POD_CHECKS, limitCheck("pod"), ...IDENTITY_CHECKS, CI_33, limitCheck("identity"),
  ...CLUSTER_CHECKS, limitCheck("cluster"), META_01, WAIVER_01, ...DEFINITION_CHECKS, AUD_15, AUD_16,
  ...TRUST_CHECKS,
];

/** Every check once, in the order of docs/checks.md. */
export const CATALOGUE: readonly CheckEntry[] = ALL.filter(({ id }, i) => ALL.findIndex((one) => one.id === id) === i);

/** Every id that `--check` and the annotation `ack-role-resolver.io/allow` accept. */
export const CHECK_IDS: ReadonlySet<string> = new Set(
  CATALOGUE.flatMap(({ id, fixed = false }) => (fixed ? [] : [id])),
);

/** Returns the severities with each check that `*` stands for. */
export function withOtherChecks(severities: DecisionSettings["checkSeverities"]): DecisionSettings["checkSeverities"] {
  const others = severities.get(OTHER_CHECKS);
  const ids = CATALOGUE.flatMap(({ id, severity, fixed = false }) => (
    others === undefined || severity !== "deny" || fixed || ALWAYS_DENYING.has(id) ? [] : [[id, others] as const]
  ));
  return new Map([...ids, ...[...severities].filter(([id]) => id !== OTHER_CHECKS)]);
}

/** Matches a value of --check whose check exists. */
export const CHECK_VALUE = `^(${[...CHECK_IDS].join("|")})=(deny|warn|off)$`;

/**
 * Returns what is wrong with the check in a value of --check such as `IRS-03=warn`, or null. The text for an unknown id
 * lists the most similar ids.
 */
export function checkFault(value: string): string | null {
  const [id = ""] = value.split("=", 1);
  if (CHECK_IDS.has(id)) return null;
  if (CATALOGUE.some((check) => check.id === id)) return `the severity of check ${id} is fixed`;
  const similar = allClosest(id, CHECK_IDS);
  const missing = `check ${quote(id)} does not exist`;
  if (similar.length === 0) return `${missing}; docs/checks.md lists the ids, such as IRS-03`;
  return `${missing}; similar ids: ${listOf(similar)}`;
}
