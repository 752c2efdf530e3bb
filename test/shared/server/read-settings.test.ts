import { test } from "tap";
import type { Command } from "../../../shared/core/setting-definition.ts";
import { type Environment, environmentName, type Flags, readSettings } from "../../../shared/server/read-settings.ts";
import { runCommand } from "../../cli/run-command.ts";
import { faultsOf } from "./settings-faults.ts";

const SIDECAR: Flags = { from: ["m"], group: ["s3.services.k8s.aws"], tokenFile: "token" };
const WEBHOOK: Flags = { cluster: true, tlsDir: "tls" };
const IN_CLUSTER: Flags = { ...WEBHOOK, namespace: "a" };
const LINT: Flags = { from: ["m"] };
const GROUP = "cn=admins,ou=groups,dc=example";
const USERS = ["jane doe", "arn:aws:sts::111122223333:assumed-role/ACKCapability/*", "*@example.com"];
const IDENTITIES: Flags = { ...SIDECAR, identitySecretNamespace: "capa-system" };
const CAPA = ["s3.services.k8s.aws", "infrastructure.cluster.x-k8s.io"];

const VALUES: readonly (readonly [what: string, Command, Flags, Environment, expected: object])[] = [
  [
    "flags override variables, and variables override defaults", "sidecar", { ...SIDECAR, region: "us-east-1" },
    { ACK_ROLE_RESOLVER_REGION: "eu-west-1", ACK_ROLE_RESOLVER_BASE: "vend", UNRELATED: "x" },
    { region: "us-east-1", base: "vend", listen: "127.0.0.1:9780", unmatched: null, cluster: false },
  ],
  ["the default of a command", "webhook", WEBHOOK, {}, { listen: "0.0.0.0:9443", namespace: null }],
  [
    "certs manage in the default installation", "certs manage", {}, {},
    { namespace: "ack-role-resolver", url: null, healthListen: "0.0.0.0:9444", kubeconfig: null },
  ],
  [
    "the text of variables", "webhook", {},
    {
      ACK_ROLE_RESOLVER_CLUSTER: "true", ACK_ROLE_RESOLVER_TLS_DIR: "d", ACK_ROLE_RESOLVER_WAIVER_GROUPS: " a, b ,,",
      ACK_ROLE_RESOLVER_FROM: "",
    },
    { cluster: true, waiverGroups: ["a", "b"], from: [] },
  ],
  ["a false variable", "sidecar", SIDECAR, { ACK_ROLE_RESOLVER_CLUSTER: "false" }, { cluster: false }],
  [
    "lists", "lint",
    { ...LINT, allowedAccounts: ["111122223333,444455556666", "777788889999"], check: ["IRS-03=warn, IRS-17=off"] }, {},
    { allowedAccounts: ["111122223333", "444455556666", "777788889999"], check: ["IRS-03=warn", "IRS-17=off"] },
  ],
  [
    "values that can contain commas", "webhook", { from: ["a,b.yaml"], tlsDir: "d", waiverUsers: [GROUP] }, {},
    { from: ["a,b.yaml"], waiverUsers: [GROUP] },
  ],
  ["a choice of one command", "lint", { ...LINT, output: "sarif" }, {}, { output: "sarif" }],
  ["patterns of users", "lint", { ...LINT, controllerUsers: USERS }, {}, { controllerUsers: USERS }],
  ...["https://a.ns.svc", "https://10.0.0.1:8443/", "https://[fd00::1]:443"].map((url) => (
    ["a URL", "webhook", { ...WEBHOOK, url }, {}, { url }] as const
  )),
  [
    "the namespaces of the controller identity", "webhook", { ...IN_CLUSTER, autoControllerIdentity: ["a,b", "c"] }, {},
    { autoControllerIdentity: ["a", "b", "c"] },
  ],
];

test("reads each setting from flags, variables, the profile and defaults", (t) => {
  for (const [what, command, flags, environment, expected] of VALUES) {
    t.match(readSettings(command, flags, environment), expected, what);
  }
  t.notOk("tokenFile" in readSettings("webhook", { ...WEBHOOK, tokenFile: "token" }, {}), "of another command");
  t.equal(environmentName("--health-listen"), "ACK_ROLE_RESOLVER_HEALTH_LISTEN");
  const settings = readSettings("sidecar", SIDECAR, {});
  for (const value of [settings, settings.group, settings.kind, settings.check]) t.ok(Object.isFrozen(value));
  t.end();
});

const ONE_SOURCE = "--from, --cluster: exactly one is required";
const NO_MANIFESTS = "no manifests are given: pass files, folders, - for standard input, or --cluster";
const TLS_DIR = "--tls-dir: required; create the folder with `ack-role-resolver certs make --dir DIR --host NAME`";
const NAMESPACE = "expected a namespace name of up to 63 lowercase letters, digits and '-', such as team-a";
const FIXED = "the severity of check ACK-35 is fixed";
const ADDRESS = "tcp://10.0.0.1:443";
/** Variables that Kubernetes injects for Services whose names start with ack-role-resolver. */
const OF_SERVICES = {
  ACK_ROLE_RESOLVER_SERVICE_HOST: "10.0.0.1", ACK_ROLE_RESOLVER_SERVICE_PORT: "443",
  ACK_ROLE_RESOLVER_SERVICE_PORT_HTTPS: "443", ACK_ROLE_RESOLVER_PORT: ADDRESS,
  ACK_ROLE_RESOLVER_PORT_443_TCP: ADDRESS, ACK_ROLE_RESOLVER_PORT_443_TCP_ADDR: "10.0.0.1",
  ACK_ROLE_RESOLVER_WEBHOOK_SERVICE_HOST: "10.0.0.1", ACK_ROLE_RESOLVER_WEBHOOK_PORT_443_TCP_PROTO: "tcp",
};
const HOSTS = ["*.ns.svc", "A.svc", "a..b", "https://a", "a:1:2", "-a", "1:2:3", "[:::1]", "[1::2::3]", "a/b"];

const checks = (check: string, fault: string): Row => (
  ["lint", { ...LINT, check: [check] }, {}, [`--check "${check}": ${fault}`]]
);

type Row = readonly [Command, Flags, Environment, faults: readonly string[]];
const FAULTS: readonly Row[] = [
  ["lint", LINT, {}, []],
  ["sidecar", SIDECAR, {}, []],
  ["local", {}, {}, []],
  ...(["lint", "resolve", "audit", "migrate carm"] as const).flatMap((command): Row[] => [
    [command, {}, {}, [NO_MANIFESTS]], [command, { from: ["m"], cluster: true }, {}, [ONE_SOURCE]],
  ]),
  ["impact", {}, {}, [`${ONE_SOURCE}; the manifests are applied to the state in this source`]],
  ["webhook", {}, {}, [ONE_SOURCE, TLS_DIR]],
  ["webhook", { cluster: true }, {}, [TLS_DIR]],
  [
    "sidecar", {}, {}, [
      ONE_SOURCE, "--group: required; the API group of the controller, such as s3.services.k8s.aws",
      "--token-file: required; the file that clients read too, such as token; the sidecar creates a missing file",
    ],
  ],
  [
    "certs make", {}, {}, [
      "--dir: required; the folder to write the certificates to",
      "--host: required; the name that clients connect to, such as ack-role-resolver-webhook.ack-role-resolver.svc",
    ],
  ],
  ["resolve", { ...LINT, label: ["a=b"] }, {}, ["--label: has no effect without --kind; add it, or remove --label"]],
  ["resolve", LINT, { ACK_ROLE_RESOLVER_LABEL: "a=b", ACK_ROLE_RESOLVER_TEAM_LEVEL_CARM: "true" }, []],
  ["resolve", { ...LINT, teamLevelCarm: true }, {}, [
    "--team-level-carm: has no effect without --mode carm; add it, or remove --team-level-carm",
  ]],
  ["resolve", { ...LINT, teamLevelCarm: true }, { ACK_ROLE_RESOLVER_MODE: "carm" }, []],
  ["lint", { ...LINT, teamLevelCarm: true }, {}, []],
  ["audit", { cluster: true, root: ["x"], kubeconfig: "x" }, {}, [
    "--root: has no effect with --cluster; remove one of them",
  ]],
  ["impact", { cluster: true, root: ["x"] }, {}, []],
  ["resolve", { ...LINT, explain: true, mode: "carm" }, {}, [
    "--explain: not supported with --mode carm; use -o json, where a message explains the role of each resource",
  ]],
  ["webhook", { from: ["x"], tlsDir: "x", namespace: "a" }, {}, ["--namespace: requires --cluster"]],
  [
    "webhook", { ...WEBHOOK, autoControllerIdentity: ["none"] }, {},
    ["--auto-controller-identity: requires --namespace"],
  ],
  ["webhook", { ...IN_CLUSTER, noCapa: true }, {}, []],
  ["webhook", { ...IN_CLUSTER, noCapa: true, autoControllerIdentity: ["none"], identitySecretNamespace: "capa" }, {}, [
    "--auto-controller-identity: has no effect with --no-capa; remove one of them",
    "--identity-secret-namespace: has no effect with --no-capa; remove one of them",
  ]],
  ["sidecar", { ...SIDECAR, profileNamespace: "a" }, {}, ["--profile-namespace: requires --cluster"]],
  ["sidecar", { ...IDENTITIES, from: [], cluster: true, group: CAPA }, {}, []],
  ["sidecar", { ...IDENTITIES, group: CAPA }, {}, [
    "--identity-secret-namespace: requires --cluster, because manifests contain no Secrets",
  ]],
  ["sidecar", {
    ...SIDECAR, defaultExternalId: "a b", defaultSourceIdentity: "AWS:a",
    defaultSessionTags: ["team={namspace},Team=b", "kind={kind}", "c", "d={x}"],
  }, {}, [
    "--default-external-id: the external ID contains characters other than letters, digits and _+=,.@:/-",
    '--default-source-identity: "AWS:a" contains characters other than letters, digits and _+=,.@-',
    '--default-source-identity: "AWS:a" starts with aws:, which is reserved for AWS',
    '--default-session-tags: "c" is not KEY=VALUE',
    '--default-session-tags: the key "Team" is repeated; tag keys are not case-sensitive',
    '--default-session-tags: template "{namspace}" does not exist for default tags; did you mean {namespace}?',
    ...["{kind}", "{x}"].map((template) => `--default-session-tags: template "${template}" does not exist for default `
      + "tags; use {selector}, {account}, {group}, {namespace}"),
  ]],
  ["sidecar", { ...SIDECAR, defaultExternalId: "", defaultSessionTags: ["a=b", ""] }, {}, [
    "--default-external-id: expected a non-empty value", '--default-session-tags "": expected a non-empty value',
  ]],
  ["sidecar", { ...SIDECAR, mode: "carm" }, { ACK_ROLE_RESOLVER_DEFAULT_SESSION_TAGS: "a=b" }, [
    "--default-external-id, --default-source-identity, --default-session-tags: not supported with --mode carm, because "
      + "they apply to the roles of IAMRoleSelectors; remove them",
  ]],
  ["sidecar", { ...IDENTITIES, from: [], cluster: true }, {}, [
    "--identity-secret-namespace: requires --group infrastructure.cluster.x-k8s.io, the API group of the identities",
  ]],
  ...HOSTS.flatMap((host): Row[] => {
    const faults = ["--url: expected https://HOST:PORT"];
    const url = `https://${host}`;
    return [
      ["webhook", { ...WEBHOOK, url }, {}, faults], ["manifests", { url }, {}, faults],
      ["certs manage", { url }, {}, faults],
    ];
  }),
  // An unset shell variable must not turn off a restriction.
  ...["", " ", ",", "111122223333,"].map((account): Row => [
    "lint", { ...LINT, allowedAccounts: [account] }, {},
    ['--allowed-accounts "": expected an AWS account ID of 12 digits'],
  ]),
  [
    "webhook",
    {
      from: ["ok", ""], tlsDir: "", region: "", listen: "9443", controllerAccount: "123", controllerRole: "role/x",
      runtime: "shipped", cluster: "yes", check: ["IRS-03=warn", "IRS-03=of"], logLevel: "loud", profile: "strick",
    },
    {},
    [
      '--check "IRS-03=of": expected ID=deny, ID=warn or ID=off', "--cluster: expected true or false",
      "--controller-account: expected an AWS account ID of 12 digits",
      "--controller-role: expected the ARN of an IAM role, such as arn:aws:iam::111122223333:role/ack",
      '--from "": expected a non-empty value', ONE_SOURCE,
      "--listen: expected HOST:PORT, such as 127.0.0.1:9780 or [::1]:9780",
      "--log-level: expected one of debug, info, warn, error",
      "--profile: expected one of observe, enforce, strict", "--region: expected an AWS region, such as eu-west-1",
      "--runtime: expected one of ack, extended", "--tls-dir: expected a non-empty value",
    ],
  ],
  checks("IRS-99=off", 'check "IRS-99" does not exist; similar ids: IRS-09 and IRS-19'),
  checks("irs-17=warn", 'check "irs-17" does not exist; similar ids: IRS-17'),
  checks("everything=off", 'check "everything" does not exist; docs/checks.md lists the ids, such as IRS-03'),
  checks("*=warn", 'check "*" does not exist; docs/checks.md lists the ids, such as IRS-03'),
  checks("ACK-35=off", FIXED),
  ...["=off", "IRS-17", "IRS-17=OFF"].map((text) => checks(text, "expected ID=deny, ID=warn or ID=off")),
  ["lint", LINT, { ACK_ROLE_RESOLVER_CHECK: "ACK-35=off" }, [`ACK_ROLE_RESOLVER_CHECK "ACK-35=off": ${FIXED}`]],
  ["resolve", { ...LINT, output: "sarif" }, {}, ["--output: expected one of text, wide, json"]],
  ["lint", { ...LINT, output: "xml" }, {}, ["--output: expected one of text, json, sarif, junit"]],
  [
    "sidecar", { from: ["m"], tokenFile: "token", region: "us" },
    {
      ACK_ROLE_RESOLVER_UNMATCHED: "maybe", ACK_ROLE_RESOLVER_GROUP: "s3.services.k8s.aws,S3",
      ACK_ROLE_RESOLVER_REGION: "eu",
    },
    [
      "--region: expected an AWS region, such as eu-west-1",
      'ACK_ROLE_RESOLVER_GROUP "S3": expected an API group, such as s3.services.k8s.aws',
      "ACK_ROLE_RESOLVER_UNMATCHED: expected one of base, deny",
    ],
  ],
  [
    "sidecar", { ...SIDECAR, scopeNamespace: "Team_A", ackSystemNamespace: "-a" }, {},
    [`--ack-system-namespace: ${NAMESPACE}`, `--scope-namespace: ${NAMESPACE}`],
  ],
  ["sidecar", { ...SIDECAR, scopeNamespace: "a".repeat(63), ackSystemNamespace: "0" }, {}, []],
  ["resolve", { ...LINT, namespace: "team a" }, {}, [`--namespace: ${NAMESPACE}`]],
  [
    "sidecar", SIDECAR,
    { ACK_ROLE_RESOLVER_REGOIN: "eu-west-1", ACK_ROLE_RESOLVER_XYZZY_PLUGH: "1", OTHER_REGOIN: "1" },
    [
      "ACK_ROLE_RESOLVER_REGOIN: unknown setting; did you mean ACK_ROLE_RESOLVER_REGION?",
      "ACK_ROLE_RESOLVER_XYZZY_PLUGH: unknown setting; see --help for the names of variables",
    ],
  ],
  ["sidecar", SIDECAR, { ACK_ROLE_RESOLVER_TLS_DIR: "d" }, []],
  ["sidecar", SIDECAR, OF_SERVICES, []],
  [
    "sidecar", SIDECAR, { ACK_ROLE_RESOLVER_SUPPORT: "1" },
    ["ACK_ROLE_RESOLVER_SUPPORT: unknown setting; see --help for the names of variables"],
  ],
];

test("reports each invalid, missing or unknown setting, with the flag or the variable that sets it", (t) => {
  for (const [command, flags, environment, faults] of FAULTS) {
    const found = faultsOf(command, flags, environment);
    t.same(found.toSorted(), faults.toSorted(), `${command} ${JSON.stringify([flags, environment])}`);
  }
  t.end();
});

test("rejects names and patterns that would match too much", (t) => {
  for (const user of ["*", "***", "", "x".repeat(257)]) {
    const expected = /^--controller-users .*: expected a user name or pattern of at most 256 characters/;
    t.match(faultsOf("lint", { ...LINT, controllerUsers: [user] }), [expected], `${user.length} characters`);
  }
  for (const name of ["*", "team-*", "A", "", "a/b", "true", "false"]) {
    const [fault = "", ...others] = faultsOf("webhook", { ...IN_CLUSTER, autoControllerIdentity: [name] });
    t.equal(others.length, 0);
    t.match(fault, `--auto-controller-identity ${JSON.stringify(name)}: expected none, or a namespace name`);
    t.match(fault, "CAPA has no wildcard for names, so list each namespace");
  }
  t.end();
});

test("--auto-controller-identity without a value allows no namespace", async (t) => {
  const { stdout } = await runCommand(["manifests", "rbac", "--auto-controller-identity"]);
  t.match(stdout, "name: ack-role-resolver-controller-identity\n");
});
