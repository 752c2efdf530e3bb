import { printable } from "../../shared/formats/text.ts";
import { DISRUPTIVE, type Impact } from "../../shared/diagnosis/impact.ts";
import type { ImpactPage } from "../feature.ts";
import { mergeRoots } from "./by-root.ts";
import { assumableText, CHANGE_TEXT, changedValue, type Changes, summaryText } from "./impact-table.ts";
import { factLines, type LocatedFinding } from "./located-finding.ts";
import { code, cut, fitting, row } from "./markdown.ts";
import { painter } from "./terminal.ts";

/** What changes in a root, and what the webhook would deny. */
interface RootChanges extends Changes {
  readonly root: string | null;
  readonly denials: readonly LocatedFinding[];
}

/** The bytes of each part. Together less than 60 kB: GitHub limits a comment to 65,536 characters. */
const MAX_BYTES = { summaries: 5_000, table: 34_000, roles: 6_000, denials: 14_000 } as const;
/** A hostile name must not fill a part, which would hide the other changes. */
const MAX_LINE = 1_000;

/**
 * Returns the impact as a comment on a pull request. Names are code spans and the findings an indented code block,
 * in which GitHub and GitLab read neither HTML, links, quick actions nor mentions:
 * https://github.github.com/gfm/#code-spans
 * `openRoles` are the new roles that callers cannot assume, or perhaps not, and their problems. `page` also shows the
 * impact.
 */
export function impactMarkdown(
  roots: readonly RootChanges[], openRoles: readonly (readonly string[])[], page: ImpactPage | null,
): string {
  const impacts = mergeRoots(roots.map(({ root, comparison, newRoles }) => ({
    root, items: comparison.impacts.map((impact) => (
      { ...impact, assumable: newRoles === null ? null : assumableText(newRoles, impact) }
    )),
  })));
  const denials = mergeRoots(roots.map(({ root, denials: items }) => ({ root, items })));
  return [
    ...fitting(roots.map(summary), MAX_BYTES.summaries, "more root"),
    ...(impacts.length === 0 ? [] : ["", ...table(impacts, roots.length > 1)]),
    ...roleLines(openRoles),
    ...(denials.length === 0 ? [] : ["", "**The webhook would deny**", "", ...denialLines(denials)]),
    ...(page === null ? [] : ["", `${page.title}: ${code(page.file)}`]),
    "",
  ].join("\n");
}

function summary({ root, comparison }: RootChanges): string {
  return root === null ? `**${summaryText(comparison)}**` : `- ${code(root)}: ${summaryText(comparison)}`;
}

/** A changed resource, and whether its new role can be assumed; null if that is not judged. */
type Row = Impact & { readonly root?: string | null; readonly assumable: string | null };

function table(impacts: readonly Row[], hasRoots: boolean): string[] {
  const rows = impacts.map((impact) => {
    const { assumable, root = null, resource: { namespace, kind, name }, change } = impact;
    const text = CHANGE_TEXT[change];
    return row([
      ...(hasRoots ? [root === null ? "each" : code(root)] : []),
      code(namespace), code(`${kind}/${name ?? ""}`), DISRUPTIVE.has(change) ? `**${text}**` : text,
      code(changedValue(impact, "before")), code(changedValue(impact, "after")),
      ...(assumable === null ? [] : [assumable === "no" ? "**no**" : assumable]),
    ]);
  });
  const isJudged = impacts.some(({ assumable }) => assumable !== null);
  const header = [
    ...(hasRoots ? ["root"] : []), "namespace", "resource", "change", "before", "after",
    ...(isJudged ? ["assumable"] : []),
  ];
  return [row(header), row(header.map(() => "---")), ...fitting(rows, MAX_BYTES.table, "more change")];
}

function roleLines(openRoles: readonly (readonly string[])[]): string[] {
  if (openRoles.length === 0) return [];
  const texts = openRoles.map((lines) => lines.map((line) => `    ${cut(printable(line), MAX_LINE)}`).join("\n"));
  const title = "**New roles that callers cannot assume, or perhaps not**";
  return ["", title, "", ...fitting(texts, MAX_BYTES.roles, "more role")];
}

function denialLines(denials: readonly LocatedFinding[]): string[] {
  const facts = factLines(denials, painter({}, {})).map((lines) => (
    lines.map((line) => `    ${cut(printable(line), MAX_LINE)}`).join("\n")
  ));
  return fitting(facts, MAX_BYTES.denials, "more denial");
}
