import type { SessionExtras } from "../../shared/core/session.ts";
import { ACCOUNT_OF_CAPA, type IdentityReference } from "../../shared/core/capa-kinds.ts";
import type { Resolution } from "../../shared/core/resolution.ts";
import { parseRoleARN } from "../../shared/formats/arn.ts";
import { printable } from "../../shared/formats/text.ts";
import type { SelectorExplanation } from "../../shared/diagnosis/explain.ts";
import type { IO } from "../io.ts";
import { formatTable, type Paint, wrapWidthOf } from "./terminal.ts";

/** The fields that identify a resource in JSON output. */
// A type and not an interface, so that the value is also a JsonObject.
export type ResourceName = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string;
  /** The name of the resource; null for the hypothetical resource that --kind describes. */
  readonly name: string | null;
};

/** A resource and its resolution, in the format of `resolve -o json`. */
export interface ResolvedResource extends Resolution {
  readonly resource: ResourceName;
  /** The explanations of the selectors. The field is present only for ACK resources with --explain. */
  readonly explanation?: readonly SelectorExplanation[];
  /** The number of selectors that the explanation omits. JSON output omits none. */
  readonly omitted?: number;
  /** What limits the sessions of the role; absent if nothing does. */
  readonly limits?: Pick<SessionExtras, "scope" | "policyARNs"> & { readonly policy: unknown };
}

const TABLE_HEADER = ["NAMESPACE", "RESOURCE", "OUTCOME", "ROLE OR REASON"];

/** Returns the header of the wide table. An object that refers to an identity has a chain of identities. */
function wideTableHeader(resolved: readonly ResolvedResource[]): string[] {
  const clusters = resolved.filter(({ chain }) => chain !== undefined).length;
  const mixed = clusters === 0 ? "SELECTORS" : "SELECTORS OR IDENTITIES";
  return ["NAMESPACE", "RESOURCE", "OUTCOME", clusters === resolved.length ? "IDENTITIES" : mixed, "ROLE", "REGION"];
}

/** The format of a table: `-o wide` has more columns and no maximum width. */
export interface TableFormat {
  readonly isWide: boolean;
  readonly width: number;
  readonly firstDetail: number;
}

/** Returns the table format for `-o text` or `-o wide`. */
export function tableFormat(output: "text" | "wide", { stdout, environment }: IO): TableFormat {
  const isWide = output === "wide";
  return { isWide, width: isWide ? Infinity : wrapWidthOf(stdout, environment), firstDetail: 3 };
}

export const OUTCOME_STYLE = { selected: "green", default: "yellow", conflict: "red", refused: "red" } as const;

/** Returns the lines of a table that has a row for each resource. A hypothetical resource has no name. */
export function resolutionTable(resolved: readonly ResolvedResource[], format: TableFormat, paint: Paint): string[] {
  const rows = resolved.map((one) => [
    one.resource.namespace,
    one.resource.name === null ? one.resource.kind : `${one.resource.kind}/${one.resource.name}`,
    one.outcome,
    ...(format.isWide ? wideCells(one) : [roleOrReason(one)]),
  ]);
  const header = format.isWide ? wideTableHeader(resolved) : TABLE_HEADER;
  const [headerLine = "", ...lines] = formatTable([header, ...rows], format);
  const colored = lines.map((line, i) => {
    const outcome = resolved[i]?.outcome ?? "refused";
    return line.replace(`  ${outcome}`, `  ${paint(OUTCOME_STYLE[outcome], outcome)}`);
  });
  return [paint("bold", headerLine), ...colored];
}

function wideCells(resolution: Resolution): string[] {
  const { outcome, roleARN, region } = resolution;
  const role = roleARN ?? (outcome === "default" ? ownRole(resolution) : "-");
  return [causeText(resolution) || "-", role, region?.value ?? "-"];
}

/** Returns the selectors, or the identities from the referenced identity to the source of the credentials. */
export function causeText({ selectors, chain }: Pick<Resolution, "selectors" | "chain">): string {
  const names = chain === undefined ? selectors.map(({ name }) => name) : chain.map(identityName).map(printable);
  return names.join(", ");
}

/** Returns `KIND/NAME`. A reference of a user can lack both. */
export function identityName({ kind, name }: IdentityReference): string {
  return `${kind === "" ? "(no kind)" : kind}/${name === "" ? "(no name)" : name}`;
}

/** Returns the text for a role of the controller, or for the account of CAPA if the object refers to an identity. */
export function ownRole({ chain }: Pick<Resolution, "chain">): string {
  return chain === undefined ? "the controller's own" : ACCOUNT_OF_CAPA;
}

/**
 * Returns the short name of the role. Without a role, returns the selectors in conflict, the error code, or the
 * identity that has no role.
 */
export function roleOrReason(resolution: Resolution): string {
  const { outcome, selectors, roleARN, code, chain = [] } = resolution;
  if (outcome === "default") return ownRole(resolution);
  if (outcome === "conflict") return selectors.map(({ name }) => name).join(", ");
  return roleARN === null ? (code ?? printable(chain.slice(0, 1).map(identityName).join(""))) : shortRole(roleARN);
}

/**
 * Returns ACCOUNT/NAME for the ARN of a role, and any other text unchanged. Omits the path of the role, because the
 * name of a role is unique in its account (https://docs.aws.amazon.com/IAM/latest/APIReference/API_CreateRole.html).
 */
function shortRole(roleARN: string): string {
  const arn = parseRoleARN(roleARN);
  return arn === null ? roleARN : `${arn.accountID}/${arn.resource.split("/").at(-1) ?? ""}`;
}
