import type { CheckEntry } from "./check.ts";
import { CLUSTER_CHECKS } from "./clusters/list.ts";
import { CONFIG_MAP_CHECKS } from "./configmaps/list.ts";
import { DEFINITION_CHECKS } from "./definitions/blind-spots.ts";
import { ACK_34, IRS_34 } from "./definitions/deletion.ts";
import { FIELD_EXPORT_CHECKS } from "./field-exports/target.ts";
import { IDENTITY_CHECKS } from "./identities/list.ts";
import { CI_33 } from "./identities/shape.ts";
import { AC_08, ACK_35, CI_34, CM_14, FE_02, NS_14, POD_10 } from "./any-kind/limits.ts";
import { META_01 } from "./any-kind/metadata.ts";
import { NAMESPACE_CHECKS } from "./namespaces/list.ts";
import { POD_CHECKS } from "./pods/pod-checks.ts";
import { RESOURCE_CHECKS } from "./resources/list.ts";
import { SELECTOR_CHANGE_CHECKS } from "./selectors/change-checks.ts";
import { IRS_51 } from "./selectors/near-miss.ts";
import { SELECTOR_SELF_CHECKS } from "./selectors/self-checks.ts";
import { WAIVER_01 } from "./any-kind/waiver.ts";

/** Every check. Checks of several kinds of objects, such as IRS-00, stand in more than one list. */
const ALL: readonly CheckEntry[] = [
  ...SELECTOR_SELF_CHECKS, ...SELECTOR_CHANGE_CHECKS, IRS_51, IRS_34, ...RESOURCE_CHECKS, ACK_34, ACK_35,
  ...NAMESPACE_CHECKS, NS_14, ...CONFIG_MAP_CHECKS, CM_14, ...FIELD_EXPORT_CHECKS, FE_02, ...POD_CHECKS, POD_10,
  ...IDENTITY_CHECKS, CI_33, CI_34, ...CLUSTER_CHECKS, AC_08, META_01, WAIVER_01, ...DEFINITION_CHECKS,
];

/** Every check once, in the order of docs/checks.md. */
export const CATALOGUE: readonly CheckEntry[] = ALL.filter(({ id }, i) => ALL.findIndex((one) => one.id === id) === i);

/** Every id that `--check` and the annotation `ack-role-resolver.io/allow` accept. */
export const CHECK_IDS: ReadonlySet<string> = new Set(
  CATALOGUE.flatMap(({ id, fixed = false }) => (fixed ? [] : [id])),
);
