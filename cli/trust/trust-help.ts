import { REVIEWERS, type TRUST_SETTINGS } from "../../shared/core/trust-settings.ts";
import { type FlagHelp, help, rareIn } from "../help-rows.ts";

const OF_ROLES = "IAM export: judge trust policies too";
const OF_CONTROLLER = "ARN of the role or user of a controller (default: those of the Deployments)";
const OF_CALLER = "program of --caller: ACK alone, with the sidecar, the EKS Capability for ACK, or CAPA";
const OF_CREDENTIALS = "credentials of --caller; EKS Pod Identity adds session tags, which each role must allow";

/** The heading and the help of each flag that only the commands about trust have. */
export const TRUST_HELP: Readonly<Record<keyof typeof TRUST_SETTINGS, FlagHelp>> = {
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
