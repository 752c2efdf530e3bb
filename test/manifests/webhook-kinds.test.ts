import { test } from "tap";
import { configured, named } from "./configured-webhooks.ts";

test("each validating webhook except those of ConfigMaps and Pods also matches the status of its kinds", (t) => {
  for (const { name, rules = [] } of configured()) {
    const resources = rules.flatMap((rule) => rule.resources ?? []);
    const isValidating = name.includes(".validate.") && !/^(configmaps|pods|namespace\.pods)\./.test(name);
    const expected = isValidating ? resources.filter((one) => !one.includes("/")).map((one) => `${one}/status`) : [];
    const subresources = resources.filter((one) => one.includes("/") && one !== "namespaces/finalize");
    t.same(subresources, expected, name);
  }
  const [rule] = named(t, "namespaces.validate").rules ?? [];
  t.same(rule?.resources, ["namespaces", "namespaces/status", "namespaces/finalize"]);
  t.end();
});

test("matches the identities of CAPA, and the kinds that refer to identities", (t) => {
  const kinds = [
    "awsclustercontrolleridentities", "awsclusterroleidentities", "awsclusterstaticidentities",
    "awsserviceaccountidentities",
  ];
  t.same(named(t, "identities.validate", {}).rules, [{
    apiGroups: ["infrastructure.cluster.x-k8s.io"], apiVersions: ["*"], operations: ["CREATE", "UPDATE", "DELETE"],
    scope: "*", resources: kinds.flatMap((kind) => [kind, `${kind}/status`]),
  }]);
  for (const name of ["clusters.mutate", "clusters.validate"]) {
    const { rules, namespaceSelector } = named(t, name);
    t.same(rules?.map(({ apiGroups, apiVersions, resources = [] }) => (
      [apiGroups, apiVersions, resources.filter((one) => !one.includes("/"))]
    )), [
      [
        ["infrastructure.cluster.x-k8s.io"], ["*"],
        ["awsclusters", "awsclustertemplates", "rosanetworks", "rosaroleconfigs"],
      ],
      [
        ["controlplane.cluster.x-k8s.io"], ["*"],
        ["awsmanagedcontrolplanes", "awsmanagedcontrolplanetemplates", "rosacontrolplanes"],
      ],
    ]);
    t.equal(namespaceSelector, undefined);
  }
  t.end();
});

test("matches FieldExports of every version in every namespace", (t) => {
  const { rules, namespaceSelector, clientConfig } = named(t, "fieldexports.validate");
  t.same(rules, [{
    apiGroups: ["services.k8s.aws"], apiVersions: ["*"], resources: ["fieldexports", "fieldexports/status"],
    operations: ["CREATE", "UPDATE"], scope: "Namespaced",
  }]);
  t.equal(namespaceSelector, undefined);
  t.equal(clientConfig.service?.path, "/validate/fieldexports");
  t.end();
});

test("excludes namespaces only from the reviews of resources and Pods, which affect no other namespace", (t) => {
  const all = configured({ excludedNamespaces: ["legacy"], enabled: new Set(["injection", "AC-05"]) });
  const isExcluding = ({ namespaceSelector }: (typeof all)[number]): boolean => (
    JSON.stringify(namespaceSelector ?? null).includes('"legacy"')
  );
  t.same(all.filter(isExcluding).map(({ name }) => name.replace(".ack-role-resolver.io", "")), [
    "resources.mutate", "pods.mutate", "namespace.pods.mutate", "resources.validate", "pods.validate",
    "namespace.pods.validate",
  ]);
  const key = "kubernetes.io/metadata.name";
  for (const { name, namespaceSelector } of all.filter(isExcluding)) {
    const values = [...(name.includes("pods.") ? ["kube-system", "ack-role-resolver"] : []), "legacy"];
    t.match(namespaceSelector, { matchExpressions: [{ key, operator: "NotIn", values }] });
  }
  t.end();
});
