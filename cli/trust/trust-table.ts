import { printable } from "../../shared/formats/text.ts";
import type { TrustRow } from "../../shared/trust/trust-rows.ts";
import { TARGET_KINDS } from "../../shared/trust/trust-target.ts";
import type { IO } from "../io.ts";
import { decisionLines } from "./decision-lines.ts";
import { formatTable, type Paint, painter } from "../output/terminal.ts";

/** A row of `trust`, about a role that a controller assumes or its own. */
export interface PrintedRow extends Pick<TrustRow, "target" | "through" | "decision"> {
  readonly caller: { readonly arn: string; readonly via: string; readonly credentials: string | null };
}

/** Returns a row in the format of `-o json`. Contains no external ID and no tags. */
export function trustRowJSON({ target, caller, through, decision }: PrintedRow): object {
  const { arn, via, credentials } = caller;
  return {
    namedBy: target.kind === "role" ? null : { kind: TARGET_KINDS[target.kind], name: target.name },
    role: target.roleARN, caller: arn, via, credentials, through, ...decision,
  };
}

const COLORS = { yes: "green", no: "red", unknown: "yellow" } as const;

/** Returns a table with a line for each row, followed by the reasons of each verdict that is not yes. */
export function trustRowLines(rows: readonly PrintedRow[], io: IO): string[] {
  if (rows.length === 0) return ["No role to examine."];
  const paint = painter(io.stdout, io.environment);
  const [header = "", ...lines] = formatTable([
    ["VERDICT", "NAMED BY", "ROLE", "CALLER", "VIA"], ...rows.map(cellsOf),
  ]);
  return [paint("bold", header), ...rows.flatMap((row, i) => rowLines(row, lines[i] ?? "", paint))];
}

function cellsOf({ target, caller, through, decision }: PrintedRow): string[] {
  const { arn, via, credentials } = caller;
  const from = through === null ? arn : `${through}, assumed by ${arn}`;
  const namer = target.kind === "role" ? "" : `${TARGET_KINDS[target.kind]} ${target.name}`;
  return [
    decision.verdict, namer, target.roleARN, from,
    credentials === null ? via : `${via}, ${credentials}`,
  ];
}

function rowLines({ decision }: PrintedRow, line: string, paint: Paint): string[] {
  const { verdict } = decision;
  const colored = paint(COLORS[verdict], verdict) + line.slice(verdict.length);
  if (verdict === "yes") return [colored];
  const actions = decision.actions.filter((one) => one.verdict !== "yes");
  return [colored, ...decisionLines({ ...decision, actions }).map(printable)];
}
