import { closest } from "../formats/nearest.ts";
import { quote } from "../formats/text.ts";
import {
  readTags, sortTags, sourceIdentityFaults, tagListFaults, TEMPLATE, textFaults,
} from "./session-annotations.ts";
import { EXTERNAL_ID_LIMITS, NO_EXTRAS, type SessionExtras } from "./session.ts";

/** The settings of the sidecar with the session settings of selectors that set none themselves. */
export interface SessionDefaultSettings {
  readonly defaultExternalId: string | null;
  readonly defaultSourceIdentity: string | null;
  readonly defaultSessionTags: readonly string[];
}

/** The templates of default tags. `{kind}` is no such template, because most selectors do not name one kind. */
const TEMPLATES = ["selector", "account", "group", "namespace"];

/** Returns the session settings that `withDefaults` adds. Every template in the tags depends on the grant. */
export function readSessionDefaults(settings: SessionDefaultSettings): SessionExtras {
  const { defaultExternalId: externalID, defaultSourceIdentity: sourceIdentity, defaultSessionTags: tags } = settings;
  if (externalID === null && sourceIdentity === null && tags.length === 0) return NO_EXTRAS;
  return { ...NO_EXTRAS, externalID, sourceIdentity, tags: tags.flatMap((tag) => readTags(tag, (value) => value)) };
}

/** Returns each fault as `FLAG: FAULT`. Does not quote the external ID, because it is confidential. */
export function sessionDefaultFaults(settings: SessionDefaultSettings): string[] {
  const { defaultExternalId: externalID, defaultSourceIdentity: sourceIdentity, defaultSessionTags } = settings;
  const tags = defaultSessionTags.length === 0 ? null : defaultSessionTags.join(",");
  return [
    ...faultsOf(externalID, (text) => textFaults(text, EXTERNAL_ID_LIMITS))
      .map((fault) => `--default-external-id: the external ID ${fault}`),
    ...faultsOf(sourceIdentity, (text) => sourceIdentityFaults(text).map((fault) => `${quote(text)} ${fault}`))
      .map((fault) => `--default-source-identity: ${fault}`),
    ...faultsOf(tags, (text) => [...tagListFaults(text, withoutTemplates), ...templateFaults(text)])
      .map((fault) => `--default-session-tags: ${fault}`),
  ];
}

function faultsOf(text: string | null, find: (text: string) => string[]): string[] {
  return text === null ? [] : find(text);
}

function withoutTemplates(value: string): string {
  return value.replaceAll(TEMPLATE, "");
}

function templateFaults(tags: string): string[] {
  const names = new Set(Array.from(tags.matchAll(TEMPLATE), ([, name = ""]) => name));
  const unknown = [...names].filter((name) => !TEMPLATES.includes(name));
  return unknown.map((name) => {
    const meant = closest(name, TEMPLATES);
    const fix = meant === null ? `use ${TEMPLATES.map((one) => `{${one}}`).join(", ")}` : `did you mean {${meant}}?`;
    return `template ${quote(`{${name}}`)} does not exist for default tags; ${fix}`;
  });
}

/**
 * Adds the defaults to the session settings of a selector. The selector overrides the external ID, the source identity
 * and each tag, whose keys are not case-sensitive.
 */
export function withDefaults(own: SessionExtras, defaults: SessionExtras): SessionExtras {
  if (defaults === NO_EXTRAS) return own;
  const keys = new Set(own.tags.map(({ key }) => key.toLowerCase()));
  const added = defaults.tags.filter(({ key }) => !keys.has(key.toLowerCase()));
  return {
    ...own,
    externalID: own.externalID ?? defaults.externalID,
    sourceIdentity: own.sourceIdentity ?? defaults.sourceIdentity,
    tags: added.length === 0 ? own.tags : sortTags([...own.tags, ...added]),
  };
}
