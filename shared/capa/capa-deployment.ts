import type { JsonObject } from "../formats/json.ts";
import { objectReference } from "../formats/object-meta.ts";
import { CAPA_DEPLOYMENT } from "../core/capa-kinds.ts";
import { decodePod, podTemplateOf } from "../core/pod.ts";

/** The image of CAPA, in its registry or in a copy, with the version as its tag. */
const CAPA_IMAGE = /(?:^|\/)cluster-api-aws-controller:(v[0-9]{1,4}\.[0-9]{1,4}\.[0-9]{1,4}[-.0-9A-Za-z]{0,40})(?:@|$)/;

/** Returns the version of CAPA that its Deployments run, or null if the objects contain none or several versions. */
export function capaVersionIn(objects: Iterable<JsonObject>): string | null {
  const versions = new Set(Array.from(objects).flatMap(versionsOf));
  const [version = null] = versions;
  return versions.size === 1 ? version : null;
}

function versionsOf(object: JsonObject): string[] {
  const { group, kind, namespace, name } = objectReference(object);
  const isOfCAPA = kind === "Deployment" && group === "apps" && `${namespace}/${name}` === CAPA_DEPLOYMENT;
  const template = isOfCAPA ? podTemplateOf(object) : null;
  if (template === null) return [];
  return decodePod(template.pod).containers.flatMap(({ image }) => CAPA_IMAGE.exec(image)?.[1] ?? []);
}
