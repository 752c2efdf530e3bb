import { Ajv } from "ajv";
import { test } from "tap";
import { NOTHING_CLOSED } from "../../../shared/core/closures.ts";
import { decisionSettings } from "../../../shared/core/context.ts";
import { COMMANDS, defaultOf } from "../../../shared/core/setting-definition.ts";
import { DEFINITIONS, SETTINGS } from "../../../shared/core/settings.ts";

test("the flags, short flags and names of settings are unique", (t) => {
  const flags = DEFINITIONS.map(([, { flag }]) => flag);
  t.same(flags.filter((flag, i) => flags.indexOf(flag) < i), []);
  const shorts = DEFINITIONS.flatMap(([, { short }]) => (short === undefined ? [] : [short]));
  t.same(shorts.filter((short, i) => shorts.indexOf(short) < i), []);
  t.same(flags.filter((flag) => !/^--[a-z]+(-[a-z]+)*$/.test(flag)), []);
  t.same(shorts.filter((short) => !/^-[a-z]$/.test(short)), []);
  t.equal(Object.keys(SETTINGS).length, DEFINITIONS.length);
  t.end();
});

test("the name of a setting is its flag in camel case, as commander requires", (t) => {
  const camelCase = (flag: string): string =>
    flag.slice(2).replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
  for (const [name, { flag }] of DEFINITIONS) t.equal(name, camelCase(flag));
  t.end();
});

test("each setting lists only existing commands, and each default value is valid", (t) => {
  const ajv = new Ajv({ allowUnionTypes: true });
  for (const [name, definition] of DEFINITIONS) {
    const { type, choices, pattern, commands, defaults = {} } = definition;
    t.ok(commands.length > 0 && commands.every((command) => COMMANDS.includes(command)), name);
    const unused = Object.keys(defaults).filter((command) => !commands.some((one) => one === command));
    t.same(unused, [], `${name}: default of a command without the setting`);
    const text = {
      type: "string", minLength: 1, ...(choices && { enum: [...choices] }), ...(pattern && { pattern: pattern.regexp }),
    };
    const value = {
      string: { anyOf: [text, { type: "null" }] }, strings: { type: "array", items: text },
      boolean: { type: [type, "null"] },
    }[type];
    for (const command of commands) t.ok(ajv.validate(value, defaultOf(definition, command)), `${name} of ${command}`);
  }
  t.end();
});

const INPUT = {
  mode: "selectors",
  runtime: "extended",
  region: "eu-west-1",
  controllerAccount: null,
  controllerRole: null,
  teamLevelCarm: true,
  serviceLevelCarm: false,
  ackSystemNamespace: "ack",
  allowedAccounts: [],
  controllerUsers: ["ack-system/ack-s3", "ack-*", "arn:aws:sts::1:assumed-role/A/*"],
  tenantLabels: [],
  allowedEndpointHosts: [],
  check: ["IRS-03=warn", "IRS-15=off", "IRS-15b=deny", "IRS-03=deny"],
  profile: "enforce",
} as const;

test("decisionSettings returns the last severity that is set for each check, and no waiver users offline", (t) => {
  t.same(decisionSettings(INPUT), {
    mode: "selectors",
    runtime: "extended",
    region: "eu-west-1",
    controllerAccount: null,
    controllerRole: null,
    teamLevelCARM: true,
    serviceLevelCARM: false,
    ackSystemNamespace: "ack",
    installationNamespaces: ["ack-role-resolver"],
    profileNamespaces: null,
    allowedAccounts: [],
    controllerServiceAccounts: ["ack-system/ack-s3"],
    capaServiceAccounts: ["capa-system/capa-controller-manager"],
    clusterAPIServiceAccounts: [],
    identitySecretNamespace: null,
    controllerUsers: ["ack-*", "arn:aws:sts::1:assumed-role/A/*"],
    tenantLabels: [],
    allowedEndpointHosts: [],
    enforcedSeverities: null,
    checkSeverities: new Map([
      ["IRS-03", "deny"],
      ["IRS-15", "off"],
      ["IRS-15b", "deny"],
    ]),
    onInternalError: "deny",
    waiverUsers: [],
    waiverGroups: [],
    isWebhookInstalled: true,
    isInputComplete: false,
    injection: {
      image: null, args: ["--team-level-carm", "--ack-system-namespace=ack", "--runtime=extended"], extraGroups: [],
      closures: NOTHING_CLOSED,
      env: [], caConfigMap: null, runAsUser: 65_532, isDualStack: false,
    },
    without: new Set(),
  });
  const waivers = { waiverUsers: ["u"], waiverGroups: ["g"] };
  t.match(decisionSettings({ ...INPUT, ...waivers }), waivers);
  t.end();
});

test("decisionSettings leaves out the features that flags switch off", (t) => {
  t.same(decisionSettings({ ...INPUT, noCapa: true }).without, new Set(["capa"]));
  t.same(decisionSettings({ ...INPUT, noCapa: false }).without, new Set());
  t.end();
});

test("decisionSettings finds the namespaces of the installation of the Pod and the Lease", (t) => {
  const namespaces = (...names: readonly (string | null)[]): unknown => {
    const { installationNamespaces, profileNamespaces } = decisionSettings({ ...INPUT, installationNamespaces: names });
    return [installationNamespaces, profileNamespaces];
  };
  t.same(namespaces("a", "b"), [["a", "b"], ["a", "b"]]);
  t.same(namespaces(null, "platform"), [["platform"], ["platform"]]);
  t.same(namespaces(null, null), [["ack-role-resolver"], null], "a guess is not known");
  t.end();
});
