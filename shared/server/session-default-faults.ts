import { sessionDefaultFaults } from "../core/session-defaults.ts";

type Values = Readonly<Record<string, unknown>>;

/** Returns each fault of the session defaults in the settings of the sidecar, by message, as a violated rule. */
export function sessionDefaultRules(values: Values): Readonly<Record<string, boolean>> {
  const { defaultExternalId, defaultSourceIdentity, defaultSessionTags, mode } = values;
  const settings = {
    defaultExternalId: textOrNull(defaultExternalId), defaultSourceIdentity: textOrNull(defaultSourceIdentity),
    defaultSessionTags: Array.isArray(defaultSessionTags) ? defaultSessionTags.map(String).filter(isFilled) : [],
  };
  const isSet = Object.values(settings).flat().some((value) => value !== null);
  const faults = sessionDefaultFaults(settings).map((fault) => [fault, true]);
  return { ...Object.fromEntries(faults), [WITH_CARM]: isSet && mode === "carm" };
}

const WITH_CARM = "--default-external-id, --default-source-identity, --default-session-tags: not supported with --mode "
  + "carm, because they apply to the roles of IAMRoleSelectors; remove them";

function textOrNull(value: unknown): string | null {
  return typeof value === "string" && isFilled(value) ? value : null;
}

/** The schema of the settings rejects an empty text. */
function isFilled(text: string): boolean {
  return text !== "";
}
