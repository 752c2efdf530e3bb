import type { Audit } from "../../shared/diagnosis/audit.ts";
import { isSelector } from "../../shared/core/ack-groups.ts";
import type { DecisionSettings } from "../../shared/core/context.ts";
import { UNJUDGED, type Unjudged } from "../../shared/files/unjudged.ts";
import { roleObjectOf } from "../../shared/kinds.ts";
import { objectReference } from "../../shared/formats/object-meta.ts";
import { countOf } from "../../shared/formats/text.ts";
import type { Impact } from "../../shared/diagnosis/impact.ts";
import type { JudgedObject, MapResource, RoleMapInput } from "../../shared/diagnosis/role-map/build-map.ts";
import type { MapUnjudged } from "../../shared/diagnosis/role-map/role-map.ts";
import { placeAndName } from "../output/located-finding.ts";
import type { State, StateObject } from "../input/state.ts";

/** What a map shows. */
interface MapSource extends Pick<State, "root" | "inventory"> {
  /** The objects to show. */
  readonly objects: readonly StateObject[];
  /** The audit of these objects. */
  readonly audit: Pick<Audit, "findings">;
  readonly unjudged: readonly Unjudged[];
  readonly impacts: readonly Impact[] | null;
}

/** Returns the input of the map of audited objects. */
export function mapInput(source: MapSource, settings: DecisionSettings): RoleMapInput {
  const { root, inventory, objects, audit, unjudged, impacts } = source;
  const byIndex = Map.groupBy(audit.findings, ({ index }) => index);
  const resources: MapResource[] = [];
  const selectors = new Map<string, JudgedObject>();
  const others: JudgedObject[] = [];
  for (const [index, found] of objects.entries()) {
    const findings = byIndex.get(index) ?? [];
    const resource = roleObjectOf(found.object);
    if (resource !== null) {
      resources.push({ resource, findings: () => findings });
    } else if (isSelector(found.object)) {
      selectors.set(objectReference(found.object).name, judgedObject(found, findings));
    } else if (findings.length > 0) others.push(judgedObject(found, findings));
  }
  return {
    root, inventory, settings, resources, selectors, objects: others, impacts,
    unjudged: unjudged.filter(({ reason }) => reason !== "unlisted").map(shownUnjudged),
  };
}

function judgedObject(found: StateObject, findings: JudgedObject["findings"]): JudgedObject {
  const { kind, name, namespace, file, line } = placeAndName(found, findings[0]?.path);
  const place = file === null ? null : [file, line].filter((part) => part !== null).join(":");
  return { kind, name, namespace: namespace ?? "", place, findings };
}

function shownUnjudged({ file, reason, count }: Unjudged): MapUnjudged {
  const [where, fix] = UNJUDGED[reason];
  return { file, count, what: `${countOf(count, "object")} ${where}`, fix };
}
