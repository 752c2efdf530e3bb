import type { Finding } from "../shared/decisions/checks/finding.ts";
import type { Severity } from "../shared/decisions/context.ts";
import { type FieldPath, formatFieldPath } from "../shared/decisions/kubernetes/field-path.ts";
import type { JsonObject } from "../shared/decisions/kubernetes/json.ts";
import { objectMeta } from "../shared/decisions/kubernetes/object-meta.ts";
import { printable } from "../shared/decisions/kubernetes/text.ts";
import type { StateObject } from "./state.ts";
import type { Paint } from "./terminal.ts";

/** A finding and where it is, in the shape of `lint -o json`. */
export interface LocatedFinding {
  readonly file: string | null;
  readonly line: number | null;
  readonly kind: string;
  readonly name: string;
  readonly namespace: string | null;
  readonly path: string;
  readonly code: string;
  readonly severity: Severity;
  readonly message: string;
  readonly fix: string;
  readonly waivable: boolean;
  readonly waived: boolean;
}

export function locate({ code, severity, path, message, fix, waivable, waived }: Finding, found: StateObject): LocatedFinding {
  return { ...placeOf(found, path), ...nameOf(found.object), path: formatFieldPath(path), code, severity, message, fix, waivable, waived };
}

function nameOf(object: JsonObject): Pick<LocatedFinding, "kind" | "name" | "namespace"> {
  const { kind, name, namespace } = objectMeta(object);
  return { kind, name, namespace: namespace === "" ? null : namespace };
}

/** The line of the field, or where it is missing of the closest that is there. */
function placeOf({ file, lineOf }: StateObject, path: FieldPath): Pick<LocatedFinding, "file" | "line"> {
  for (let depth = path.length; depth >= 0; depth--) {
    const line = lineOf(path.slice(0, depth));
    if (line !== null) return { file, line };
  }
  return { file, line: null };
}

/** A finding as three lines: where and what, what is wrong, how to mend it. */
export function findingLines(finding: LocatedFinding, paint: Paint): string[] {
  const { file, line, kind, name, namespace, path, code, severity, message, fix, waived } = finding;
  const place = file === null ? "" : printable(`${file}:${line}: `);
  const colour = severity === "deny" ? "red" : "yellow";
  const named = namespace === null ? name : `${namespace}/${name}`;
  return [
    `${place}${paint(colour, severity)}${waived ? " (waived)" : ""} ${code} ${printable(`${kind} ${named}`)} ${path}`,
    `    ${message}`,
    `    ${paint("dim", `fix: ${fix}`)}`,
  ];
}
