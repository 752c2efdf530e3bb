import type { Check } from "../check.ts";
import { CM_09_OF_NAMESPACES, NS_03, NS_03_SYNTAX, NS_05, NS_10 } from "./carm.ts";
import type { NamespaceChange } from "./change.ts";
import { ACK_36_OF_NAMESPACES, NS_16 } from "./choice.ts";
import { NS_09, NS_13 } from "./deletion.ts";
import { NS_08, NS_08B } from "./endpoint.ts";
import { NS_12, NS_13_OF_CLUSTERS } from "./identities.ts";
import { NS_01, NS_02 } from "./labels.ts";
import { NS_04 } from "./owner.ts";
import { NS_07, NS_07B } from "./region.ts";
import { NS_17 } from "./selector-required.ts";

/** The checks that run when a Namespace changes. */
export const NAMESPACE_CHECKS: readonly Check<NamespaceChange>[] = [
  NS_01, NS_02, NS_03, NS_03_SYNTAX, NS_04, NS_05, NS_07, NS_07B, NS_08, NS_08B, NS_09, NS_10, NS_12, NS_13,
  NS_13_OF_CLUSTERS, NS_16, NS_17, CM_09_OF_NAMESPACES, ACK_36_OF_NAMESPACES,
];
