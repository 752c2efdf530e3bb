import { type Test, test } from "tap";
import { checksOfWrites, NOT_COVERED, policiesByCheck } from "../../docs/policies.ts";
import { admissionPolicies, DEFAULT_POLICY_SETTINGS } from "../../manifests/policies.ts";
import { anyCase, body, quoted, regexp, text, trimmed, unlessStored } from "../../shared/formats/cel.ts";
import { listsOf, type PolicySettings } from "../../manifests/policies/policy.ts";
import { knownGroups } from "../../shared/core/ack-groups.ts";
import type { Runtime } from "../../shared/core/context.ts";
import { field, isJsonObject, type JsonObject, stringAt } from "../../shared/formats/json.ts";
import { ACK_GROUPS } from "../../shared/core/ack-groups.ts";
import { DNS_LABEL, LABEL_VALUE } from "../../shared/formats/names.ts";

const OPTIONS = {
  namespace: "platform", ackSystemNamespace: "ack-system", ackGroups: knownGroups(["new.services.k8s.aws"]),
} as const;

const CAPA_GROUPS = ["infrastructure.cluster.x-k8s.io", "controlplane.cluster.x-k8s.io"];

function rendered(
  changed: Partial<PolicySettings> = {}, runtime: Runtime = "ack", hasWebhooks = false,
): readonly JsonObject[] {
  const settings = { ...DEFAULT_POLICY_SETTINGS, ...changed };
  const objects = admissionPolicies({ ...OPTIONS, runtime, hasWebhooks }, listsOf(settings));
  const copy: unknown = JSON.parse(JSON.stringify(objects));
  return Array.isArray(copy) ? copy.filter((one) => isJsonObject(one)) : [];
}

function policyNamed(t: Test, name: string, objects = rendered()): JsonObject {
  const found = objects.find((one) => stringAt(one, "kind") === "ValidatingAdmissionPolicy"
    && stringAt(one, "metadata", "name") === `${name}.ack-role-resolver.io`);
  if (found === undefined) throw new Error(`${t.name}: no policy ${name}`);
  return found;
}

function listAt(object: unknown, ...path: readonly string[]): readonly unknown[] {
  const value = path.reduce<unknown>(field, object);
  return Array.isArray(value) ? value : [];
}

/** Returns the expression of a variable, or null. */
function variable(policy: JsonObject, name: string): string | null {
  const found = listAt(policy, "spec", "variables").find((one) => stringAt(one, "name") === name);
  return found === undefined ? null : stringAt(found, "expression");
}

test("renders each policy with a binding that denies, and with failurePolicy Fail", (t) => {
  const objects = rendered();
  const policies = objects.filter((one) => stringAt(one, "kind") === "ValidatingAdmissionPolicy");
  const names = policies.map((one) => stringAt(one, "metadata", "name"));
  t.same(names, [
    "iamroleselectors", "controllers", "fieldexports", "adoptedresources", "resources", "clusters", "namespaces",
    "waivers",
    "service-account",
  ].map((name) => `${name}.ack-role-resolver.io`));
  for (const policy of policies) t.equal(stringAt(policy, "spec", "failurePolicy"), "Fail");
  const bindings = objects.filter((one) => !policies.includes(one));
  t.same(bindings.map(({ kind, spec }) => ({ kind, spec })), names.map((policyName) => (
    { kind: "ValidatingAdmissionPolicyBinding", spec: { policyName, validationActions: ["Deny"] } }
  )));
  t.end();
});

test("beside webhooks, only the policy of selectors reads their failurePolicy, and is otherwise the same", (t) => {
  for (const runtime of ["ack", "extended"] as const) {
    const [beside, alone] = [rendered({}, runtime, true), rendered({}, runtime, false)];
    const changed = beside.filter((one, index) => JSON.stringify(one) !== JSON.stringify(alone[index]));
    t.same(changed.map(({ kind, metadata }) => [kind, stringAt(metadata, "name")]), [
      ["ValidatingAdmissionPolicy", "iamroleselectors.ack-role-resolver.io"],
      ["ValidatingAdmissionPolicyBinding", "iamroleselectors.ack-role-resolver.io"],
    ]);
    const [policy, binding] = changed;
    t.match(policy, { spec: { paramKind: { kind: "ValidatingWebhookConfiguration" } } });
    const [condition, ...others] = listAt(policy, "spec", "matchConditions");
    t.equal(stringAt(condition, "expression"), "!(params.?webhooks.orValue([]).exists(one, "
      + 'one.name == "iamroleselectors.validate.ack-role-resolver.io" && one.failurePolicy == "Fail"))');
    t.same(others, listAt(policyNamed(t, "iamroleselectors", alone), "spec", "matchConditions"));
    t.match(binding, { spec: { paramRef: { name: "ack-role-resolver", parameterNotFoundAction: "Allow" } } });
  }
  t.end();
});

test("the policy that limits waivers of selectors applies beside every failurePolicy", (t) => {
  const waivers = policyNamed(t, "waivers", rendered({}, "ack", true));
  t.match(listAt(waivers, "spec", "matchConstraints", "resourceRules"), [
    { resources: ["iamroleselectors", "iamroleselectors/status"], operations: ["CREATE", "UPDATE"] },
  ]);
  t.equal(variable(policyNamed(t, "iamroleselectors"), "WAIVER_01"), null);
  t.end();
});

test("each check that denies a write is covered, or NOT_COVERED in docs/policies.ts states the reason", (t) => {
  const covered = policiesByCheck();
  const uncovered = checksOfWrites().map(({ id }) => id).filter((id) => !covered.has(id));
  t.same(Object.keys(NOT_COVERED).toSorted(), uncovered.toSorted());
  const known = new Set(checksOfWrites().map(({ id }) => id));
  t.same([...covered.keys()].filter((id) => !known.has(id)), [], "no policy contains a check that only warns");
  t.end();
});

test("disables each check that --check sets to warn or off, except the fixed limit check", (t) => {
  const checkSeverities = new Map([["IRS-15", "warn"], ["IRS-03", "off"], ["IRS-07", "deny"]] as const);
  const names = [
    "iamroleselectors", "controllers", "fieldexports", "adoptedresources", "resources", "clusters", "namespaces",
    "waivers",
  ];
  for (const name of names) {
    const policy = policyNamed(t, name, rendered({ checkSeverities }));
    t.equal(variable(policy, "disabledChecks"), '["IRS-03", "IRS-15"]', name);
  }
  const denials = variable(policyNamed(t, "iamroleselectors"), "denials");
  t.match(denials, '  "IRS-03" in variables.disabledChecks || variables.IRS_03 ? "" : "IRS-03 spec.arn: ');
  t.match(denials, '  variables.IRS_48 ? "" : "IRS-48 spec: ');
  t.end();
});

test("renders the waiver users, the allowed accounts and the allowed endpoint hosts as CEL literals", (t) => {
  const objects = rendered({
    waiverUsers: ["jane\"x"], waiverGroups: ["platform"], allowedAccounts: ["111122223333"],
    controllerRole: "arn:aws-cn:iam::999900001111:role/ack", allowedEndpointHosts: ["a.example"],
  });
  const selectors = policyNamed(t, "iamroleselectors", objects);
  const noController = '!(request.userInfo.?username.orValue("") in [] || '
    + '[].exists(pattern, request.userInfo.?username.orValue("").matches(pattern)) || '
    + 'request.userInfo.?username.orValue("") in ["system:serviceaccount:capa-system:capa-controller-manager"])';
  t.equal(variable(selectors, "isWaiverUser"), '(request.userInfo.?username.orValue("") in ["jane\\"x"] || '
    + `request.userInfo.?groups.orValue([]).exists(group, group in ["platform"])) && ${noController}`);
  t.equal(variable(selectors, "allowedAccounts"), '["111122223333"]');
  t.equal(variable(selectors, "allowedPartitions"), '["aws-cn"]');
  t.equal(variable(policyNamed(t, "namespaces", objects), "allowedHosts"), String.raw`["a\\.example"]`);
  const byDefault = policyNamed(t, "iamroleselectors");
  t.match(variable(byDefault, "isWaiverUser"), '["system:masters"]');
  for (const name of ["allowedAccounts", "allowedPartitions"]) t.equal(variable(byDefault, name), "[]");
  t.equal(variable(policyNamed(t, "namespaces"), "allowedHosts"), "[]");
  t.end();
});

test("exempts the named ACK controllers from the checks of resources, but not from WAIVER-01", (t) => {
  const objects = rendered({
    controllerServiceAccounts: ["ack-system/ack-s3"], controllerUsers: ["arn:aws:sts::1:assumed-role/A.B/*"],
  });
  const expression = 'request.userInfo.?username.orValue("") in ["system:serviceaccount:ack-system:ack-s3"] || '
    + String.raw`["(?s)^arn:aws:sts::1:assumed-role/A\\.B/.*$"]`
    + '.exists(pattern, request.userInfo.?username.orValue("").matches(pattern))';
  const controllers = policyNamed(t, "controllers", objects);
  t.equal(variable(controllers, "IRS_24"), `request.kind.kind == "ConfigMap" || !(${expression})`);
  t.equal(variable(controllers, "CM_15"), `!(request.kind.kind == "ConfigMap") || !(${expression})`);
  const resources = policyNamed(t, "resources", objects);
  t.equal(variable(resources, "isExempt"), expression);
  for (const check of ["ACK_02", "ACK_35"]) t.match(variable(resources, check), /^variables\.isExempt \|\| \(/);
  t.notMatch(variable(resources, "WAIVER_01"), "isExempt");
  const none = 'request.userInfo.?username.orValue("") in [] || '
    + '[].exists(pattern, request.userInfo.?username.orValue("").matches(pattern))';
  t.equal(variable(policyNamed(t, "resources"), "isExempt"), none);
  t.end();
});

test("renders the patterns and limits of the checks", (t) => {
  const selectors = policyNamed(t, "iamroleselectors");
  t.match(variable(selectors, "invalidNames"), `size(name) <= 63 && name.matches(${JSON.stringify(DNS_LABEL.source)})`);
  t.match(variable(selectors, "IRS_11"), `.matches(${JSON.stringify(LABEL_VALUE.source)})`);
  t.match(variable(selectors, "isWithinLimits"), "size(variables.names) <= 1000 && size(variables.types) <= 1000");
  t.end();
});

test("reads matchExpressions only with --runtime extended, because ACK's CRD does not define them", (t) => {
  t.notMatch(JSON.stringify(rendered()), "matchExpressions.orValue");
  const extended = policyNamed(t, "iamroleselectors", rendered({}, "extended"));
  t.match(variable(extended, "IRS_15"), "size(variables.resourceExpressions) > 0");
  t.match(variable(extended, "IRS_11"), '["In", "NotIn", "Exists", "DoesNotExist"]');
  t.end();
});

test("a denial lists all failed checks, and fits the 5 KiB that the API server allows", (t) => {
  for (const name of ["iamroleselectors", "fieldexports", "adoptedresources", "resources", "clusters", "namespaces"]) {
    const policy = policyNamed(t, name, rendered({ allowedAccounts: ["1"], allowedEndpointHosts: ["a"] }));
    const [validation] = listAt(policy, "spec", "validations");
    t.match(validation, {
      expression: "size(variables.denials) == 0", messageExpression: 'variables.denials.join(" ")', reason: "Invalid",
    });
    t.ok(Buffer.byteLength(variable(policy, "denials") ?? "") < 5 * 1024);
    t.notMatch(stringAt(validation, "message"), "\n");
  }
  t.match(variable(policyNamed(t, "iamroleselectors"), "denials"),
    'variables.IRS_03 ? "" : "IRS-03 spec.arn: the value is not the ARN of an IAM role. '
      + 'Write the role\'s ARN as IAM shows it: arn:aws:iam::ACCOUNT:role/NAME."');
  t.end();
});

test("applies the policies of resources and of the service account to every ACK group", (t) => {
  const objects = rendered();
  const groupsOf = (name: string): unknown => (
    listAt(policyNamed(t, name, objects), "spec", "matchConstraints", "resourceRules").flatMap((rule) => (
      listAt(rule, "apiGroups")
    ))
  );
  t.same(groupsOf("resources"), [...ACK_GROUPS, "new.services.k8s.aws"].toSorted());
  t.same(groupsOf("service-account"), [
    "services.k8s.aws", ...[...ACK_GROUPS, "new.services.k8s.aws"].toSorted(), ...CAPA_GROUPS,
  ]);
  t.match(listAt(policyNamed(t, "service-account", objects), "spec", "matchConditions"), [{
    expression: 'request.userInfo.?username.orValue("") == '
      + '"system:serviceaccount:platform:ack-role-resolver-webhook"',
  }]);
  t.end();
});

test("applies the policies of clusters and of the service account to the kinds that refer to identities", (t) => {
  const objects = rendered({ capaServiceAccounts: ["capa/manager"] });
  const policy = policyNamed(t, "clusters", objects);
  t.match(listAt(policy, "spec", "matchConstraints", "resourceRules"), [
    { apiGroups: [CAPA_GROUPS[0]], apiVersions: ["*"], operations: ["CREATE", "UPDATE"] },
    { apiGroups: [CAPA_GROUPS[1]], resources: ["awsmanagedcontrolplanes"], operations: ["CREATE", "UPDATE"] },
  ]);
  t.equal(variable(policy, "isExempt"),
    'request.userInfo.?username.orValue("") in ["system:serviceaccount:capa:manager"]');
  t.match(variable(policy, "ACK_02"), /^variables\.isExempt \|\| \(/);
  t.notMatch(variable(policy, "WAIVER_01"), "isExempt");
  const rules = listAt(policyNamed(t, "service-account", objects), "spec", "matchConstraints", "resourceRules");
  const resources = new Set(rules.flatMap((rule) => listAt(rule, "resources")));
  const limited = ["awsclusters", "awsclusters/*", "awsclusterroleidentities", "awsclusterroleidentities/*"];
  t.ok(limited.every((one) => resources.has(one)));
  t.end();
});

test("the policy on waivers covers the status of each kind that has a waiver", (t) => {
  const rules = listAt(policyNamed(t, "waivers"), "spec", "matchConstraints", "resourceRules");
  const resources = rules.flatMap((rule) => listAt(rule, "resources").map(String));
  t.same(resources.filter((one) => !one.endsWith("/status")), [
    "iamroleselectors", "customresourcedefinitions", "configmaps", "awsclustercontrolleridentities",
    "awsclusterroleidentities", "awsclusterstaticidentities", "awsserviceaccountidentities",
  ]);
  for (const one of [
    "customresourcedefinitions", "iamroleselectors", "*", "fieldexports", "adoptedresources", "awsclusters",
  ]) {
    t.ok(resources.includes(`${one}/status`), one);
  }
  t.end();
});

test("the policy of FieldExports names the namespaces of the installation and of the controllers", (t) => {
  const settings = { controllerServiceAccounts: ["ack-s3/c"], controllerUsers: ["system:serviceaccount:ack-*:c"] };
  const expression = variable(policyNamed(t, "fieldexports", rendered(settings)), "isProtected");
  t.match(expression, 'variables.target in ["platform", "ack-system", "", "kube-system"] || ');
  t.match(expression, '["system:serviceaccount:ack-s3:c"].exists(user, '
    + 'user.startsWith("system:serviceaccount:" + variables.target + ":"))');
  t.match(expression, '["(?s)^system:serviceaccount:ack-.*:c$"].filter(');
  t.end();
});

test("builds CEL literals, patterns and expressions", (t) => {
  t.equal(text('a"\\'), '"a\\"\\\\"');
  t.equal(anyCase("a-z"), "[Aa]-[Zz]");
  t.equal(regexp(/^\/[a-z]\d$/isu), '"(?is)^/[a-z]\\\\d$"');
  t.equal(body(/^\/([!-~]+\/)?$/), "/([!-~]+/)?");
  t.equal(quoted("a.b*[c]"), "a\\.b\\*\\[c\\]");
  t.equal(trimmed("id"), 'id.replace("\\ufeff", "").trim()');
  t.equal(unlessStored((state) => `${state}valid`), "valid || oldObject != null && !(oldvalid)");
  t.equal(unlessStored(() => "a && b"), "(a && b) || oldObject != null && !(a && b)");
  t.end();
});
