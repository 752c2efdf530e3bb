import { type Definition, SESSION_NAME } from "./setting-definition.ts";
import { REVIEWERS } from "./trust-settings.ts";

/** The settings of the sessions that a sidecar issues, of which `trust` and the reviewing commands read some. */
export const SESSION_SETTINGS = {
  sessionScope: {
    flag: "--session-scope", type: "string", choices: ["service", "none"], default: null, commands: ["sidecar"],
  },
  sessionName: {
    flag: "--session-name", type: "string", value: "NAME", pattern: SESSION_NAME, default: "ack-role-resolver",
    defaults: { "trust check": null }, commands: ["sidecar", "trust", "trust check", ...REVIEWERS],
  },
  defaultExternalId: {
    flag: "--default-external-id", type: "string", value: "ID", default: null,
    commands: ["sidecar", "trust", ...REVIEWERS],
  },
  defaultSourceIdentity: {
    flag: "--default-source-identity", type: "string", value: "NAME", default: null,
    commands: ["sidecar", "trust", ...REVIEWERS],
  },
  defaultSessionTags: {
    flag: "--default-session-tags", type: "strings", value: "KEY=VALUE", default: [],
    commands: ["sidecar", "trust", ...REVIEWERS],
  },
} as const satisfies Record<string, Definition>;
