import type { TRUST_SETTINGS } from "../shared/contract/trust-settings.ts";
import { type FlagHelp, help } from "./help-rows.ts";

/** The heading and the help of each flag that only the commands about trust have. */
export const TRUST_HELP: Readonly<Record<keyof typeof TRUST_SETTINGS, FlagHelp>> = {
  iam: help("Input", "file about IAM, such as an export; ACCOUNT=FILE states its account"),
  aws: help("Input", "AWS CLI profile to read instead of a file"),
  caller: help(
    "Question", "ARN of the caller: a role, a session of a role, or a user; or the name of a service",
    {
      trust: "ARN of the role or user of a controller (default: those of the Deployments)",
      "trust policy": "ARN of a role that is meant to assume the roles",
    },
  ),
  all: help(
    "Input", "every role that a selector names; without --from and --cluster, every role of the exports",
    { "trust policy": "every role that a selector names" },
  ),
  intended: help(
    "Question", "ARN that is intended to assume roles: of a role, user, session, account or identity provider; also "
      + "an account of 12 digits, or the name of a service",
  ),
  via: help(
    "Question", "who assumes roles: ACK, the sidecar with the settings of selectors, or the EKS Capability",
    { trust: "program of --caller: ACK alone, with the sidecar, the EKS Capability for ACK, or CAPA" },
  ),
  callerCredentials: help(
    "Question", "decide whether sts:TagSession is needed (default: as the callers' trust policies in --iam show)",
    {
      trust: "credentials of --caller; EKS Pod Identity adds session tags, which each role must allow",
      "trust check": "credentials of --caller; EKS Pod Identity adds session tags, which the role must allow",
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
