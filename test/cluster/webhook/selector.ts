/** Returns the selector of the namespace that has the name of the selector. */
export function selector(name: string, arn: string): object {
  return {
    apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { name },
    spec: { arn, namespaceSelector: { names: [name] } },
  };
}
