import type { Command as Commander } from "commander";
import { REVIEWERS, type TRUST_SETTINGS } from "../../shared/core/trust-settings.ts";
import type { Flags } from "../../shared/server/read-settings.ts";
import { type CommandContext, settingsOf, settledSettingsOf } from "../command-context.ts";
import type { Feature } from "../feature.ts";
import { type FlagHelp, help, rareIn } from "../help-rows.ts";

const OF_ROLES = "IAM export: judge trust policies too";
const OF_CONTROLLER = "ARN of the role or user of a controller (default: those of the Deployments)";
const OF_CALLER = "program of --caller: ACK alone, with the sidecar, the EKS Capability for ACK, or CAPA";
const OF_CREDENTIALS = "credentials of --caller; EKS Pod Identity adds session tags, which each role must allow";

/** The heading and the help of each flag that only the commands about trust have. */
const HELP: Readonly<Record<keyof typeof TRUST_SETTINGS, FlagHelp>> = {
  iam: help("Input", "file about IAM, such as an export; ACCOUNT=FILE states its account", {
    lint: OF_ROLES, audit: OF_ROLES, impact: OF_ROLES,
  }),
  aws: rareIn(REVIEWERS, "Input", "AWS CLI profile to read instead of a file"),
  caller: rareIn(
    REVIEWERS, "Question", "ARN of the caller: a role, a session of a role, or a user; or the name of a service",
    {
      trust: OF_CONTROLLER, lint: OF_CONTROLLER, audit: OF_CONTROLLER, impact: OF_CONTROLLER,
      "trust policy": "ARN of a role that is meant to assume the roles",
    },
  ),
  all: help(
    "Input", "every role that an object names; without --from and --cluster, every role of the exports",
    { "trust policy": "every role that an object names" },
  ),
  intended: rareIn(
    REVIEWERS, "Question", "ARN that is intended to assume roles: of a role, user, session, account or identity "
      + "provider; also an account of 12 digits, or the name of a service",
  ),
  via: rareIn(
    REVIEWERS, "Question", "who assumes roles; only the sidecar sends the settings of selectors",
    { trust: OF_CALLER, lint: OF_CALLER, audit: OF_CALLER, impact: OF_CALLER },
  ),
  callerCredentials: rareIn(
    REVIEWERS, "Question",
    "decide whether sts:TagSession is needed (default: as the callers' trust policies in --iam show)",
    {
      "trust check": "credentials of --caller; EKS Pod Identity adds session tags, which the role must allow",
      trust: OF_CREDENTIALS, lint: OF_CREDENTIALS, audit: OF_CREDENTIALS, impact: OF_CREDENTIALS,
    },
  ),
  diff: help("Output", "compare with the exports of --iam, and exit with status 1 if they differ"),
  role: help("Question", "ARN of the role to assume"),
  externalId: help("Question", "external ID that the call sends"),
  sourceIdentity: help("Question", "source identity that the call sends"),
  tag: help("Question", "session tag that the call sends"),
  transitiveTag: help("Question", "key of a session tag that the session passes on"),
  duration: help("Question", "duration of the session in seconds that the call requests"),
  requests: help("Input", "file with a question in each line, as JSON, or - for standard input"),
};

/** Whether IAM lets the controllers assume the roles that objects name, by exports of IAM. */
export const TRUST: Feature = {
  commands: { trust: addTrust },
  examples: {
    trust: [
      "ack-role-resolver trust --from manifests --iam iam.json \\",
      "    --caller arn:aws:iam::111122223333:role/ack --via sidecar \\",
      "    --caller-credentials pod-identity",
    ],
    "trust check": [
      "ack-role-resolver trust check --iam iam.json \\",
      "    --caller arn:aws:iam::111122223333:role/ack \\",
      "    --role arn:aws:iam::444455556666:role/team-a --external-id team-a",
    ],
    "trust who": [
      "ack-role-resolver trust who team-a --from manifests --iam iam.json \\",
      "    --intended arn:aws:iam::111122223333:role/ack",
      "ack-role-resolver trust who --all --iam iam.json -o json",
    ],
    "trust policy": [
      "ack-role-resolver trust policy team-a --from manifests -o terraform \\",
      "    --caller arn:aws:iam::111122223333:role/ack",
      "ack-role-resolver trust policy --group s3.services.k8s.aws",
      "ack-role-resolver trust policy --all --cluster --iam iam.json --diff \\",
      "    --caller arn:aws:iam::111122223333:role/ack",
    ],
  },
  help: HELP,
  roleReviewer: {
    isAsked: ({ iam, aws }) => iam.length + aws.length > 0,
    review: async (...input) => (await import("./role-review.ts")).reviewRoles(...input),
  },
};

function addTrust(program: Commander, { io, done, add }: CommandContext): void {
  const roles = "tell whether controllers can assume the roles that objects name, from exports of IAM";
  const trust = add(program, "trust", roles).helpCommand(false).enablePositionalOptions()
    .action(async (flags: Flags) => {
      const { runTrust } = await import("./trust.ts");
      done(await runTrust(await settledSettingsOf("trust", flags, io), io));
    });
  const check = "tell whether a caller can assume a role, from exports of IAM";
  add(trust, "trust check", check).action(async (flags: Flags) => {
    const { runTrustCheck } = await import("./trust-check.ts");
    done(await runTrustCheck(settingsOf("trust check", flags, io), io));
  });
  add(trust, "trust who", "list who else can assume a role, directly and through other roles")
    .argument("[TARGET]", "ARN of a role, a selector, or KIND/NAME of an identity or a CARM map")
    .action(async (target: string | undefined, flags: Flags) => {
      const { runTrustWho } = await import("./trust-who.ts");
      done(await runTrustWho(target ?? null, await settledSettingsOf("trust who", flags, io), io));
    });
  add(trust, "trust policy", "print the policies that roles and their callers need")
    .argument("[NAME]", "selector, or KIND/NAME of an identity or a CARM map")
    .action(async (name: string | undefined, flags: Flags) => {
      const { runTrustPolicy } = await import("./trust-policy.ts");
      done(await runTrustPolicy(name ?? null, await settledSettingsOf("trust policy", flags, io), io));
    });
}
