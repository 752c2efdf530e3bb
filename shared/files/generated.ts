import { quote } from "../formats/text.ts";
import { withoutActions } from "./skip.ts";

/** Matches a comment that states that a program writes the file, such as the comments of helm and controller-gen. */
const GENERATED = new RegExp([
  /^\s*(?:#|\/\/).*\b(?:do not (?:edit|modify|touch)|generated (?:by|from|with|using|code))\b.*/,
  /^\s*(?:#|\/\/).*\b(?:auto|code)[- ]?generated\b.*/,
  /^\s*(?:#|\/\/).*(?:@generated|\bautomatically (?:created|generated|written))\b.*/,
  /^# Source: \S+\/templates\/.*/,
].map(({ source }) => source).join("|"), "im");

/** Returns why a program must not change a file, because its text comes from elsewhere; null if it may. */
export function whyGenerated(text: string): string | null {
  if (withoutActions(text) !== null || /^\s*#@/m.test(text)) return "it is a template";
  if (/^sops:/m.test(text)) return "it is encrypted with sops, whose checksum would no longer match";
  const comment = GENERATED.exec(text)?.[0].trim();
  return comment === undefined ? null : `it is generated: ${quote(comment)}`;
}
