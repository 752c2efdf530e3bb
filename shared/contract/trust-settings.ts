import { COUNT, type Definition } from "./setting-definition.ts";

/** The commands about trust that read selectors. */
export const OF_SELECTORS = ["trust who", "trust policy"] as const;

/** The rows of the settings table that only the commands about trust have. */
export const TRUST_SETTINGS = {
  iam: {
    flag: "--iam", type: "strings", allowsComma: true, value: "FILE", default: [],
    commands: ["trust check", ...OF_SELECTORS],
  },
  caller: {
    flag: "--caller", type: "strings", allowsComma: true, value: "ARN", default: [],
    commands: ["trust check", "trust policy"],
  },
  via: {
    flag: "--via", type: "string", choices: ["ack", "sidecar", "eks-capability"], default: "sidecar",
    commands: ["trust policy"],
  },
  callerCredentials: {
    flag: "--caller-credentials", type: "string", choices: ["irsa", "pod-identity", "keys"], default: null,
    commands: ["trust policy"],
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
  all: { flag: "--all", type: "boolean", default: false, commands: OF_SELECTORS },
  intended: {
    flag: "--intended", type: "strings", allowsComma: true, value: "ARN", default: [], commands: ["trust who"],
  },
  requests: { flag: "--requests", type: "string", value: "FILE", default: null, commands: ["trust check"] },
} as const satisfies Record<string, Definition>;
