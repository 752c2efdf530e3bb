import { test } from "tap";
import { installNamespace, readerBinding, readerRole, serviceAccount } from "../../manifests/rbac.ts";

test("the webhook reads what an inventory is made of, and nothing else", (t) => {
  const verbs = ["get", "list", "watch"];
  t.same(readerRole().rules, [
    { apiGroups: ["services.k8s.aws"], resources: ["iamroleselectors"], verbs },
    { apiGroups: [""], resources: ["namespaces"], verbs },
    { apiGroups: ["apiextensions.k8s.io"], resources: ["customresourcedefinitions"], verbs },
  ]);
  t.notMatch(JSON.stringify(readerRole()), /\*/, "no wildcard");
  t.end();
});

test("the role is bound to the service account in the namespace of the install", (t) => {
  const account = serviceAccount("platform").metadata;
  const { roleRef, subjects } = readerBinding("platform");
  t.match(account, { name: "ack-role-resolver-webhook", namespace: installNamespace("platform").metadata?.name });
  t.same(subjects, [{ kind: "ServiceAccount", name: account?.name, namespace: account?.namespace }]);
  t.same(roleRef, { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: readerRole().metadata?.name });
  t.end();
});
