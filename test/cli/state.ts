/** A small state: two teams, a malformed selector, a conflict and a resource that no selector selects. */
export const STATE = `apiVersion: v1
kind: Namespace
metadata: {name: team-a, labels: {tier: gold}}
---
apiVersion: v1
kind: Namespace
metadata: {name: team-b}
---
apiVersion: services.k8s.aws/v1alpha1
kind: IAMRoleSelector
metadata: {name: team-a}
spec: {arn: "arn:aws:iam::111122223333:role/team-a", namespaceSelector: {names: [team-a]}}
---
apiVersion: services.k8s.aws/v1alpha1
kind: IAMRoleSelector
metadata: {name: queues}
spec: {arn: "arn:aws:iam::111122223333:role/queues", \
namespaceSelector: {names: [], labelSelector: {matchLabels: {tier: gold}}}, \
resourceTypeSelector: [{group: sqs.services.k8s.aws, version: "", kind: ""}]}
---
apiVersion: services.k8s.aws/v1alpha1
kind: IAMRoleSelector
metadata: {name: team-b}
spec: {arn: "arn:aws:iam:444455556666:role/team-b", namespaceSelector: {names: [team-b]}}
---
apiVersion: s3.services.k8s.aws/v1alpha1
kind: Bucket
metadata: {name: b1, namespace: team-a}
---
apiVersion: sqs.services.k8s.aws/v1alpha1
kind: Queue
metadata:
  name: q1
  namespace: team-a
  annotations: {ack-role-resolver.io/outcome: conflict, ack-role-resolver.io/conflicting-selectors: "queues,old"}
  labels: {tier: silver}
---
apiVersion: s3.services.k8s.aws/v1alpha1
kind: Bucket
metadata: {name: b1, namespace: team-b}
`;
