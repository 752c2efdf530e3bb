/** The checks that run when a Namespace changes. */
const NAMESPACE_CHECKS: readonly Check<NamespaceChange>[] = [
  NS_01, NS_02, NS_07, NS_07_OF_ROLES, NS_07B, NS_08, NS_08_HOSTS, NS_09, NS_12, NS_13, NS_17,
];
const LIMIT = limitCheck(NAMESPACE.limit);

export const NAMESPACE_JUDGE: Judge = {
  kind: NAMESPACE, checks: [...NAMESPACE_CHECKS, LIMIT],
  bind: within(LIMIT, ofChange(NAMESPACE_CHECKS, namespaceChange)), stored: storedNamespace,
};
