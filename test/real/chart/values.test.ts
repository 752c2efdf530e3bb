import { CHECK_IDS, needsAccessReviews } from "../../../shared/judges.ts";
import { field } from "../../../shared/formats/json.ts";
import { CHART, NAMESPACE, objectsIn, RELEASE, template, withHelm } from "./helm.ts";

/** Values that the schema rejects, and the start of the fault. */
const INVALID = [
  ["replicas=0", "at '/replicas': minimum: got 0, want 1"],
  ["replica=3", "at '': additional properties 'replica' not allowed"],
  ["certificates.mode=none", "at '/certificates/mode': value must be one of 'self-signed', 'cert-manager', 'files'"],
  ["certificates.mode=files", "at '/certificates/caBundle': '' does not match pattern '-----BEGIN CERTIFICATE-----'"],
  ["settings.logLevl=debug", "at '/settings': additional properties 'logLevl' not allowed"],
  ["settings.controllerAccount=111122223333", "at '/settings/controllerAccount': got number, want string"],
  ["settings.check={IRS-99=off}", "at '/settings/check/0': 'IRS-99=off' does not match pattern '^("],
  ["extraGroups={example.com}", "at '/extraGroups/0': 'example.com' does not match pattern"],
  ["injection.args={base}", "at '/injection/args/0': 'base' does not match pattern"],
  ["identitySecretNamespace=Capa", "at '/identitySecretNamespace': 'Capa' does not match pattern"],
  ["image.digest=sha256:1", "at '/image/digest': 'sha256:1' does not match pattern"],
  ["image.repository=example.com/a:1", "at '/image/repository': 'example.com/a:1' does not match pattern"],
  ["image.tag=1.0+a", "at '/image/tag': '1.0+a' does not match pattern"],
  ["podLabels.app\\.kubernetes\\.io/name=a", "at '/podLabels/app.kubernetes.io~1name': false schema"],
  ["podLabels.a=b c", "at '/podLabels/a': 'b c' does not match pattern"],
  ["commonLabels.helm\\.sh/chart=a", "at '/commonLabels/helm.sh~1chart': false schema"],
  ["commonLabels.a_=b", "at '/commonLabels': additional properties 'a_' not allowed"],
  ["hostNetwork=1", "at '/hostNetwork': got number, want boolean"],
  ["dualStack=yes", "at '/dualStack': got string, want boolean"],
  ["dnsPolicy=None", "at '/dnsPolicy': value must be one of '', 'ClusterFirst', 'ClusterFirstWithHostNet', "],
  ["ports.webhook=443", "at '/ports/webhook': minimum: got 443, want 1,024"],
  ["ports.health=65536", "at '/ports/health': maximum: got 65,536, want 65,535"],
  ["nameOverride=1-gate", "at '/nameOverride': '1-gate' does not match pattern"],
  ["fullnameOverride=Gate", "at '/fullnameOverride': 'Gate' does not match pattern"],
  ["serviceAccount.name=a/b", "at '/serviceAccount/name': 'a/b' does not match pattern"],
  ["deploymentAnnotations.a=1", "at '/deploymentAnnotations/a': got number, want string"],
  ["serviceAnnotations.a=true", "at '/serviceAnnotations/a': got boolean, want string"],
  ["updateStrategy.type=Rolling", "at '/updateStrategy/type': value must be one of 'RollingUpdate', 'Recreate'"],
  ["updateStrategy.rollingUpdate.maxSurge=1", "at '/updateStrategy': missing property 'type'"],
  ["image.registry=https://example.com", "at '/image/registry': 'https://example.com' does not match pattern"],
  ["webhookConfigurations.timeoutSeconds=2", "at '/webhookConfigurations/timeoutSeconds': minimum: got 2, want 3"],
  ["webhookConfigurations.excludedNamespaces={team-*}", "at '/webhookConfigurations/excludedNamespaces/0': 'team-*'"],
  ["monitoring.serviceMonitor.interval=30", "at '/monitoring/serviceMonitor/interval': got number, want string"],
  ["monitoring.podMonitor.enabled=yes", "at '/monitoring/podMonitor/enabled': got string, want boolean"],
  ["monitoring.sidecarPodMonitor.every=1m", "at '/monitoring/sidecarPodMonitor': additional properties 'every'"],
  ["monitoring.prometheusRule=true", "at '/monitoring/prometheusRule': got boolean, want object"],
  ["monitoring.prometheusRule.runbookURL=docs", "at '/monitoring/prometheusRule/runbookURL': 'docs' does not match"],
  ["monitoring.dashboard.labels.a=1", "at '/monitoring/dashboard/labels/a': got number, want string"],
  ["podDisruptionBudget.minAvailable=half", "at '/podDisruptionBudget/minAvailable': 'half' does not match pattern"],
  ["podDisruptionBudget.maxUnavailable=-1", "at '/podDisruptionBudget/maxUnavailable': minimum: got -1, want 0"],
  ["podDisruptionBudget.maxUnavailable=one", "at '/podDisruptionBudget/maxUnavailable': 'one' does not match"],
  ["networkPolicy.apiServer.cidrs={10.0.0.1}", "at '/networkPolicy/apiServer/cidrs/0': '10.0.0.1' does not match"],
  ["settings.clientName=a", "at '/settings': properties 'clientCaFile' required, if 'clientName' exists"],
  ["certificates.issuerRef.kind=ClusterIssuer", "at '/certificates/issuerRef': properties 'name' required"],
  ["extraEnv[0].name=A,extraEnv[0].value=1", "at '/extraEnv/0/value': got number, want string"],
  ["capa=false", "at '/capa': got boolean, want object"],
  ["capa.enabled=no", "at '/capa/enabled': got string, want boolean"],
  ["capa.enabled=null", "at '/capa': missing property 'enabled'"],
  ["injection.runAsUser=0", "at '/injection/runAsUser': minimum: got 0, want 1"],
  ["injection.runAsUser=root", "at '/injection/runAsUser': got string, want null or integer"],
  ["podSecurityContext={a}", "at '/podSecurityContext': got array, want object"],
  ["securityContext=restricted", "at '/securityContext': got string, want object"],
  ["extraObjects.kind=ConfigMap", "at '/extraObjects': got object, want array"],
  ["extraObjects={a}", "at '/extraObjects/0': got string, want object"],
  ["extraObjects[0].kind=ConfigMap", "at '/extraObjects/0': missing property 'apiVersion'"],
  ["enabled=false", "at '/enabled': value must be true"],
  ["settings=null", "at '': missing property 'settings'"],
  ["networkPolicy.apiServer.ports=null", "at '/networkPolicy/apiServer': missing property 'ports'"],
  ["certificates.mode=null", "at '/certificates': missing property 'mode'\n"],
] as const;

withHelm("rejects invalid values with their paths", async (t, helm) => {
  for (const [value, fault] of INVALID) {
    const { code, stderr } = await template(helm, [value]);
    t.equal(code, 1, value);
    t.match(stderr, `- ${fault}`);
  }
});

const access = (check: string): string => `must be true, because the profile or settings.check sets ${check};`;

/** Values that contradict each other, and the message of the chart. */
const CONTRADICTORY = [
  [["accessReviews=false", "settings.check={ACK-09=deny}"], access("ACK-09=deny")],
  [["accessReviews=false", "settings.check={NS-02=off,NS-02=warn}"], access("NS-02=warn")],
  [["accessReviews=false", "profile=strict"], access("ACK-09=deny, NS-02=deny, AC-05=deny")],
  [
    ["autoControllerIdentity.enabled=true", "reconciling=false"],
    "reconciling: must be true, because autoControllerIdentity.enabled is true",
  ],
  [
    ["injection.enabled=true", `ackSystemNamespace=${NAMESPACE}`],
    'injection.enabled: must be false in the namespace "ack-role-resolver" of the ACK controllers',
  ],
  [
    [`identitySecretNamespace=${NAMESPACE}`],
    'identitySecretNamespace: must be another namespace than "ack-role-resolver"',
  ],
  ...["identityRoles=true", "serviceAccountIdentityCRD=true", "identitySecretNamespace=capa-system",
    "autoControllerIdentity.enabled=true"].map((value) => [
    ["capa.enabled=false", value], `capa.enabled: must be true, because ${value.split("=", 1).join()} is set; to leave`,
  ] as const),
  [["ports.health=9443"], "ports.health: must differ from ports.webhook, which is 9443 too; choose another"],
  [["serviceAccount.create=false"], "serviceAccount.name: must name an existing service account, because"],
  [["serviceAccount.name=default"], 'serviceAccount.name: must not be "default", because other Pods use'],
  [["serviceAccount.name=ack-role-resolver-certificates"], "would share the rights of the webhook; choose"],
  [
    [
      "certificates.mode=files", "certificates.caBundle=-----BEGIN CERTIFICATE-----",
      "certificates.secretName=ack-role-resolver-webhook-ca",
    ],
    'certificates.secretName: must not be "ack-role-resolver-webhook-ca", because an upgrade deletes the Secrets',
  ],
  [
    ["podDisruptionBudget.minAvailable=0", "podDisruptionBudget.maxUnavailable=50%"],
    "podDisruptionBudget: set minAvailable or maxUnavailable, but not both",
  ],
  [
    ["monitoring.serviceMonitor.enabled=true", "monitoring.podMonitor.enabled=true"],
    "monitoring: enable serviceMonitor or podMonitor, but not both, because Prometheus would scrape each Pod twice",
  ],
  [
    ["webhookConfigurations.excludedNamespaces={legacy,ack-system}"],
    'webhookConfigurations.excludedNamespaces: must not contain "ack-system", the namespace of the ACK controllers',
  ],
  [
    ["webhookConfigurations.excludedNamespaces={legacy}", "policies.enabled=false"],
    "policies.enabled: must be true, because webhookConfigurations.excludedNamespaces is set",
  ],
  [["heapMiB=384"], "heapMiB: must be below the 384Mi of resources.limits.memory, because request bodies,"],
  [["resources.limits.memory=0.1G"], "heapMiB: must be below the 0.1G of resources.limits.memory"],
  [["resources.limits.memory=200000000"], /heapMiB: must be below the 2(00000000|e\+08) of resources.limits.memory/],
] as const;

withHelm("rejects a value without the value that it requires", async (t, helm) => {
  for (const [values, fault] of CONTRADICTORY) {
    const { code, stderr } = await template(helm, values);
    t.equal(code, 1, values.join());
    t.match(stderr, fault);
  }
  const enough = [
    "heapMiB=400,resources.limits.memory=1Gi", "resources.limits=null", "resources=null",
    "resources.limits.memory=512000Ki", "resources.limits.memory=1e9", "resources.limits.memory=1Ei",
  ];
  for (const values of enough) t.match(await template(helm, [values]), { code: 0 }, values);
  const off = await template(helm, ["accessReviews=false", "settings.check={ACK-09=deny,ACK-09=off}"]);
  t.match(off, { code: 0 }, "the last severity applies");
});

withHelm("the chart requires accessReviews for the same checks as the command manifests", async (t, helm) => {
  const ids = [...CHECK_IDS].filter((id) => needsAccessReviews({ checkSeverities: new Map([[id, "warn"]]) }));
  t.equal(ids.length, 3);
  for (const id of ids) {
    const values = ["accessReviews=false", `settings.check={${id}=warn}`];
    t.match((await template(helm, values)).stderr, `accessReviews: must be true`, id);
  }
});

withHelm("renders texts that look like numbers or booleans as texts", async (t, helm) => {
  const sets = ["priorityClassName=1e3", "certificates.secretName=007", "ackSystemNamespace=1"]
    .flatMap((value) => ["--set-string", value]);
  const args = ["template", RELEASE, CHART, "--namespace", "123", "--kube-version", "1.30.0"];
  const files = ["--set", "certificates.mode=files", "--set", "certificates.caBundle=-----BEGIN CERTIFICATE-----"];
  const { stdout, stderr } = await helm([...args, ...sets, ...files]);
  t.equal(stderr, "");
  const objects = objectsIn(stdout);
  t.match(objects.find(({ kind }) => kind === "Deployment"), {
    metadata: { namespace: "123" },
    spec: { template: { spec: { priorityClassName: "1e3", volumes: [{ secret: { secretName: "007" } }] } } },
  });
  const namespaces = new Set(objects.map((object) => field(field(object, "metadata"), "namespace")));
  t.same(namespaces, new Set([undefined, "123", "1"]));
  t.match(objects.find(({ kind }) => kind === "Namespace"), { metadata: { name: "123" } });
});
