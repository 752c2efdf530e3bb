import { COUNT, type Definition } from "./setting-definition.ts";

/** The commands about trust that read selectors. */
export const OF_SELECTORS = ["trust", "trust who", "trust policy"] as const;

/** The commands that judge the roles of the input, if they get exports of IAM. */
export const REVIEWERS = ["lint", "audit", "impact"] as const;

/** The programs that assume roles. The EKS Capability runs ACK outside the cluster, and CAPA is Cluster API for AWS. */
export const PROGRAMS = ["ack", "sidecar", "eks-capability", "capa"] as const;
/** How a program gets the credentials of its own role: from EKS in one of two ways, or as the keys of a user. */
export const CREDENTIALS = ["irsa", "pod-identity", "keys"] as const;

/** The rows of the settings table that only the commands about trust have. */
export const TRUST_SETTINGS = {
  iam: {
    flag: "--iam", type: "strings", allowsComma: true, value: "FILE", default: [],
    commands: ["trust check", ...OF_SELECTORS, ...REVIEWERS],
  },
  aws: {
    flag: "--aws", type: "strings", value: "PROFILE", default: [],
    commands: ["trust check", ...OF_SELECTORS, ...REVIEWERS],
  },
  caller: {
    flag: "--caller", type: "strings", allowsComma: true, value: "ARN", default: [],
    commands: ["trust", "trust check", "trust policy", ...REVIEWERS],
  },
  via: {
    flag: "--via", type: "string", choices: PROGRAMS, default: "ack",
    defaults: { "trust policy": "sidecar" }, commands: ["trust", "trust policy", ...REVIEWERS],
  },
  callerCredentials: {
    flag: "--caller-credentials", type: "string", choices: CREDENTIALS, default: null,
    commands: ["trust", "trust check", "trust policy", ...REVIEWERS],
  },
  diff: { flag: "--diff", type: "boolean", default: false, commands: ["trust policy"] },
  role: { flag: "--role", type: "string", value: "ARN", default: null, commands: ["trust check"] },
  externalId: { flag: "--external-id", type: "string", value: "ID", default: null, commands: ["trust check"] },
  sourceIdentity: {
    flag: "--source-identity", type: "string", value: "NAME", default: null, commands: ["trust check"],
  },
  tag: {
    flag: "--tag", type: "strings", allowsComma: true, value: "KEY=VALUE", default: [], commands: ["trust check"],
  },
  transitiveTag: {
    flag: "--transitive-tag", type: "strings", allowsComma: true, value: "KEY", default: [], commands: ["trust check"],
  },
  duration: {
    flag: "--duration", type: "string", value: "SECONDS", pattern: COUNT, default: null, commands: ["trust check"],
  },
  all: { flag: "--all", type: "boolean", default: false, commands: ["trust who", "trust policy"] },
  intended: {
    flag: "--intended", type: "strings", allowsComma: true, value: "ARN", default: [],
    commands: ["trust who", "lint", "audit"],
  },
  requests: { flag: "--requests", type: "string", value: "FILE", default: null, commands: ["trust check"] },
} as const satisfies Record<string, Definition>;
