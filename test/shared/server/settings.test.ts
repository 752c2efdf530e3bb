import { test } from "tap";
import { environmentName, type Flags, readSettings } from "../../../shared/server/read-settings.ts";
import { faultsOf } from "./settings-faults.ts";

const SIDECAR: Flags = { from: ["m"], group: ["s3.services.k8s.aws"], tokenFile: "token" };

test("flags override environment variables, and environment variables override defaults", (t) => {
  const environment = { ACK_ROLE_RESOLVER_REGION: "eu-west-1", ACK_ROLE_RESOLVER_BASE: "vend", UNRELATED: "x" };
  const settings = readSettings("sidecar", { ...SIDECAR, region: "us-east-1" }, environment);
  t.match(settings, {
    region: "us-east-1",
    base: "vend",
    sessionName: "ack-role-resolver",
    listen: "127.0.0.1:9780",
    healthListen: "0.0.0.0:9781",
    unmatched: null,
    cluster: false,
  });
  t.equal(
    readSettings("webhook", { from: ["m"], tlsDir: "d" }, {}).listen,
    "0.0.0.0:9443",
    "the command has a default value",
  );
  t.notOk(
    "tokenFile" in readSettings("webhook", { from: ["m"], tlsDir: "d", tokenFile: "token" }, {}),
    "a setting of another command",
  );
  t.equal(environmentName("--health-listen"), "ACK_ROLE_RESOLVER_HEALTH_LISTEN");
  t.end();
});

test("converts the text of environment variables to booleans and lists", (t) => {
  const settings = readSettings(
    "webhook",
    {},
    {
      ACK_ROLE_RESOLVER_CLUSTER: "true",
      ACK_ROLE_RESOLVER_TLS_DIR: "d",
      ACK_ROLE_RESOLVER_WAIVER_GROUPS: " a, b ,,",
      ACK_ROLE_RESOLVER_FROM: "",
    },
  );
  t.match(settings, { cluster: true, waiverGroups: ["a", "b"], from: [] });
  t.equal(readSettings("sidecar", SIDECAR, { ACK_ROLE_RESOLVER_CLUSTER: "false" }).cluster, false);
  t.end();
});

test("splits the values of repeatable flags at commas", (t) => {
  const lists: Flags = {
    allowedAccounts: ["111122223333,444455556666", "777788889999"], check: ["IRS-03=warn, IRS-17=off"],
    tenantLabels: ["a,b"],
  };
  t.match(readSettings("lint", { from: ["m"], ...lists }, {}), {
    allowedAccounts: ["111122223333", "444455556666", "777788889999"], check: ["IRS-03=warn", "IRS-17=off"],
    tenantLabels: ["a", "b"],
  });
  t.match(
    readSettings("resolve", { from: ["m"], kind: ["Bucket.s3.services.k8s.aws"], label: ["a=b,c=d"] }, {}),
    { label: ["a=b", "c=d"] },
  );
  t.end();
});

test("rejects an empty item of a list, so that an unset shell variable does not disable a restriction", (t) => {
  for (const value of ["", ",", "111122223333,", " "]) {
    t.same(
      faultsOf("lint", { from: ["m"], allowedAccounts: [value] }),
      ['--allowed-accounts "": expected an AWS account ID of 12 digits'],
      value,
    );
  }
  t.end();
});

test("does not split a flag whose value can contain a comma", (t) => {
  const group = "cn=admins,ou=groups,dc=example";
  const flags: Flags = { from: ["a,b.yaml"], waiverUsers: [group], waiverGroups: [group] };
  t.match(readSettings("webhook", { ...flags, tlsDir: "d" }, {}), flags);
  t.end();
});

test("freezes the settings object and its lists", (t) => {
  const settings = readSettings("sidecar", SIDECAR, {});
  t.ok(Object.isFrozen(settings));
  for (const value of [settings.group, settings.kind, settings.check]) t.ok(Object.isFrozen(value));
  t.end();
});

test("reports the flag and the expected value of every malformed setting", (t) => {
  t.same(
    faultsOf("webhook", {
      from: ["ok", ""],
      tlsDir: "",
      region: "",
      listen: "9443",
      controllerAccount: "123",
      controllerRole: "role/x",
      runtime: "shipped",
      cluster: "yes",
      check: ["IRS-03=warn", "IRS-03=of"],
      logLevel: "loud",
    }).toSorted(),
    [
      '--check "IRS-03=of": expected ID=deny, ID=warn or ID=off',
      "--cluster: expected true or false",
      "--controller-account: expected an AWS account ID of 12 digits",
      "--controller-role: expected the ARN of an IAM role, such as arn:aws:iam::111122223333:role/ack",
      '--from "": expected a non-empty value',
      "--from, --cluster: exactly one is required",
      "--listen: expected HOST:PORT, such as 127.0.0.1:9780 or [::1]:9780",
      "--log-level: expected one of debug, info, warn, error",
      "--region: expected an AWS region, such as eu-west-1",
      "--runtime: expected one of ack, extended",
      "--tls-dir: expected a non-empty value",
    ],
  );
  t.end();
});

test("names the ids that are similar to an unknown id in --check", (t) => {
  const fixed = "the severity of check ACK-35 is fixed";
  for (const [check, fault] of [
    ["IRS-99=off", 'check "IRS-99" does not exist; similar ids: IRS-09 and IRS-19'],
    ["irs-17=warn", 'check "irs-17" does not exist; similar ids: IRS-17'],
    ["everything=off", 'check "everything" does not exist; docs/checks.md lists the ids, such as IRS-03'],
    ["ACK-35=off", fixed],
    ...["=off", "IRS-17", "IRS-14=OFF", "IRS-17=OFF"].map((text) => [text, "expected ID=deny, ID=warn or ID=off"]),
  ]) {
    t.same(faultsOf("lint", { from: ["m"], check: [check ?? ""] }), [`--check "${check}": ${fault}`]);
  }
  const environment = { ACK_ROLE_RESOLVER_CHECK: "ACK-35=off" };
  t.same(faultsOf("lint", { from: ["m"] }, environment), [`ACK_ROLE_RESOLVER_CHECK "ACK-35=off": ${fixed}`]);
  t.end();
});

test("rejects an unknown ACK_ROLE_RESOLVER_ variable and suggests a similar variable", (t) => {
  t.same(
    faultsOf("sidecar", SIDECAR, {
      ACK_ROLE_RESOLVER_REGOIN: "eu-west-1",
      ACK_ROLE_RESOLVER_XYZZY_PLUGH: "1",
      OTHER_REGOIN: "1",
    }),
    [
      "ACK_ROLE_RESOLVER_REGOIN: unknown setting; did you mean ACK_ROLE_RESOLVER_REGION?",
      "ACK_ROLE_RESOLVER_XYZZY_PLUGH: unknown setting; see --help for the names of variables",
    ],
  );
  t.same(
    faultsOf("sidecar", SIDECAR, { ACK_ROLE_RESOLVER_TLS_DIR: "d" }),
    [],
    "a shared environment may set other commands",
  );
  t.end();
});

test("ignores the variables that Kubernetes injects for a Service named ack-role-resolver", (t) => {
  const address = "tcp://10.0.0.1:443";
  t.same(
    faultsOf("sidecar", SIDECAR, {
      ACK_ROLE_RESOLVER_SERVICE_HOST: "10.0.0.1",
      ACK_ROLE_RESOLVER_SERVICE_PORT: "443",
      ACK_ROLE_RESOLVER_SERVICE_PORT_HTTPS: "443",
      ACK_ROLE_RESOLVER_PORT: address,
      ACK_ROLE_RESOLVER_PORT_443_TCP: address,
      ACK_ROLE_RESOLVER_PORT_443_TCP_ADDR: "10.0.0.1",
      ACK_ROLE_RESOLVER_WEBHOOK_SERVICE_HOST: "10.0.0.1",
      ACK_ROLE_RESOLVER_WEBHOOK_PORT_443_TCP_PROTO: "tcp",
    }),
    [],
  );
  t.same(
    faultsOf("sidecar", SIDECAR, { ACK_ROLE_RESOLVER_SUPPORT: "1" }).length,
    1,
    "the variable name is similar to that of a Service variable",
  );
  t.end();
});

test("reports missing settings and settings that exclude each other", (t) => {
  const manifests = "no manifests are given: pass files, folders, - for standard input, or --cluster";
  const source = "--from, --cluster: exactly one is required";
  t.same(faultsOf("lint", {}), [manifests]);
  t.same(faultsOf("resolve", {}), [manifests]);
  t.same(faultsOf("audit", {}), [manifests]);
  for (const command of ["lint", "resolve", "audit"] as const)
    t.same(faultsOf(command, { from: ["m"], cluster: true }), [source], command);
  t.same(faultsOf("impact", {}), [`${source}; the manifests are applied to the state in this source`]);
  t.same(faultsOf("resolve", { from: ["m"], label: ["a=b"] }), ["--label: requires --kind"]);
  t.same(faultsOf("resolve", { from: ["m"], explain: true, mode: "carm" }), [
    "--explain: not supported with --mode carm; use -o json, where a message explains the role of each resource",
  ]);
  t.same(faultsOf("webhook", {}), [
    source,
    "--tls-dir: required; create the folder with `ack-role-resolver certs make --dir DIR --host NAME`",
  ]);
  t.same(faultsOf("sidecar", {}), [
    source,
    "--group: required; the API group of the controller, such as s3.services.k8s.aws",
    "--token-file: required; the file that clients read too, such as token; the sidecar creates a missing file",
  ]);
  t.same(faultsOf("certs make", {}), [
    "--dir: required; the folder to write the certificates to",
    "--host: required; the name that clients connect to, such as ack-role-resolver-webhook.ack-role-resolver.svc",
  ]);
  t.same([faultsOf("lint", { from: ["m"] }), faultsOf("sidecar", SIDECAR), faultsOf("local", {})], [[], [], []]);
  t.end();
});

test("accepts only the choices that a command has for a setting", (t) => {
  t.equal(readSettings("lint", { from: ["m"], output: "sarif" }, {}).output, "sarif");
  t.same(faultsOf("audit", { from: ["m"], output: "sarif" }), ["--output: expected one of text, json"]);
  t.same(faultsOf("lint", { from: ["m"], output: "xml" }), ["--output: expected one of text, json, sarif"]);
  t.end();
});

test("names the environment variable of an invalid setting, or the flag that overrides the variable", (t) => {
  const environment = {
    ACK_ROLE_RESOLVER_UNMATCHED: "maybe",
    ACK_ROLE_RESOLVER_GROUP: "s3.services.k8s.aws,S3",
    ACK_ROLE_RESOLVER_REGION: "eu",
  };
  const flags: Flags = { from: ["m"], tokenFile: "token", region: "us" };
  t.same(faultsOf("sidecar", flags, environment).toSorted(), [
    "--region: expected an AWS region, such as eu-west-1",
    'ACK_ROLE_RESOLVER_GROUP "S3": expected an API group, such as s3.services.k8s.aws',
    "ACK_ROLE_RESOLVER_UNMATCHED: expected one of base, deny",
  ]);
  t.end();
});

test("rejects an invalid namespace name in each flag whose value is a namespace", (t) => {
  const expected = "expected a namespace name of up to 63 lowercase letters, digits and '-', such as team-a";
  t.same(
    faultsOf("sidecar", {
      ...SIDECAR,
      scopeNamespace: "Team_A",
      ackSystemNamespace: "-a",
    }).toSorted(),
    [
      `--ack-system-namespace: ${expected}`,
      `--scope-namespace: ${expected}`,
    ],
  );
  t.same(faultsOf("resolve", { from: ["m"], namespace: "team a" }), [`--namespace: ${expected}`]);
  t.same(
    faultsOf("sidecar", {
      ...SIDECAR,
      scopeNamespace: "a".repeat(63),
      ackSystemNamespace: "0",
    }),
    [],
  );
  t.end();
});

test("accepts user names and patterns in --controller-users, but no pattern that matches every user", (t) => {
  const users = ["jane doe", "arn:aws:sts::111122223333:assumed-role/ACKCapability/*", "*@example.com"];
  t.same(readSettings("lint", { from: ["-"], controllerUsers: users }, {}).controllerUsers, users);
  for (const user of ["*", "***", "", "x".repeat(257)]) {
    const faults = faultsOf("lint", { from: ["-"], controllerUsers: [user] });
    const expected = /^--controller-users .*: expected a user name or pattern of at most 256 characters/;
    t.match(faults, [expected], `${user.length} characters`);
  }
  t.end();
});
