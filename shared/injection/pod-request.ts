import { INJECT_CONTAINER_ANNOTATION, INJECT_GROUP_ANNOTATION, INJECT_LABEL } from "../core/annotation-keys.ts";
import { INFRASTRUCTURE_GROUP } from "../core/capa-kinds.ts";
import type { DecisionSettings } from "../core/context.ts";
import type { InjectionSettings } from "../core/sidecar-settings.ts";
import { booleanRepairs } from "../core/meant-values.ts";
import { by, meant, type Repair, safely, set } from "../core/repair.ts";
import { annotationPath, type FieldPath, type JsonObject } from "../formats/json.ts";
import { NameIndex } from "../formats/nearest.ts";
import { quote } from "../formats/text.ts";
import { sidecarOf } from "../core/sidecar-container.ts";
import { type Controllers, controllersOf, groupOf, isRequested, requestOf } from "./injection-request.ts";
import { type Container, containerPath, decodePod, type Pod } from "../core/pod.ts";
import { type ReservedUse, reservedUses } from "./reserved-names.ts";
import type { Fault, QuickCheck } from "../core/check.ts";

/** The maximum number of containers that a message names. */
const MAX_CONTAINERS = 10;

export const POD_01: QuickCheck<PodCreation> = {
  id: "POD-01",
  severity: "deny",
  reason: "With an unknown value, it is unclear whether the Pod requests a sidecar.",
  fix: `set the label ${INJECT_LABEL} to "true" or "false"`,
  example: `metadata: {labels: {${INJECT_LABEL}: "yes"}}`,
  *find({ pod }): Iterable<Fault> {
    const value = requestOf(pod);
    if (isRequested(pod) || value === "false") return;
    const message = `the value ${quote(value)} is not "true" or "false"`;
    const path = ["metadata", "labels", { key: INJECT_LABEL }];
    yield { path, message, repairs: booleanRepairs(path, value) };
  },
};

export const POD_02: QuickCheck<PodCreation> = {
  id: "POD-02",
  severity: "deny",
  reason:
    "Only the container of the ACK controller gets the variables of the sidecar, and loses the credentials of the "
    + "Pod.",
  fix: `set the annotation ${INJECT_CONTAINER_ANNOTATION} to the name of the controller's container`,
  example: `metadata: {annotations: {${INJECT_CONTAINER_ANNOTATION}: manager}} # the Pod has no container manager`,
  *find({ pod, choice, injection }): Iterable<Fault> {
    if (!isRequested(pod) || choice.found) return;
    const { names, wanted } = choice;
    const [path, fix] = [annotationPath(INJECT_CONTAINER_ANNOTATION), POD_02.fix];
    const repairs = meant(path, likelyControllers(pod, { names, wanted }, injection));
    const more = names.length > MAX_CONTAINERS ? ` and ${names.length - MAX_CONTAINERS} more` : "";
    const list = `${names.slice(0, MAX_CONTAINERS).map(quote).join(", ")}${more}`;
    if (wanted === null) {
      const message = names.length === 0
        ? "the Pod has no container of a controller"
        : `the Pod has several containers (${list}), and no annotation names the container of the controller`;
      yield { path: ["spec", "containers"], message, fix, repairs };
      return;
    }
    const message = `the Pod has no container ${quote(wanted)}; its containers are ${list}`;
    yield { path, message, fix, repairs };
  },
};

/** Returns the containers with a known image of ACK, and of these the one whose name was probably meant. */
function likelyControllers(
  pod: Pod, { names, wanted }: Pick<Extract<Controllers, { readonly found: false }>, "names" | "wanted">,
  { extraGroups }: InjectionSettings,
): readonly string[] {
  const likely = pod.containers
    .filter((one) => names.includes(one.name) && groupOf(pod, one, extraGroups).group !== null)
    .map(({ name }) => name);
  const nearest = wanted === null ? [] : new NameIndex(likely).nearest(wanted);
  return nearest.length > 0 ? nearest : likely;
}

/** A sidecar for CAPA identities serves other programs than CAPA, and only in Pods that a user writes. */
const CAPA_FIX = `remove the label ${INJECT_LABEL}. CAPA does not use the sidecar; for another program, add the `
  + "sidecar to the Pod yourself";

export const POD_03: QuickCheck<PodCreation> = {
  id: "POD-03",
  severity: "deny",
  reason: "The sidecar grants only the roles of one API group. The webhook derives the group only from an image whose "
    + "name ends in aws-controllers-k8s/SERVICE-controller, because another name can belong to another program.",
  fix: `set the annotation ${INJECT_GROUP_ANNOTATION} to the API group of the controller, such as s3.services.k8s.aws`,
  example: `metadata: {annotations: {${INJECT_GROUP_ANNOTATION}: s4.services.k8s.aws}}`,
  *find({ pod, controllers, sidecar, injection }): Iterable<Fault> {
    const [controller] = controllers;
    if (controller === undefined) return;
    const chosen = groupOf(pod, controller, injection.extraGroups);
    if (chosen.group !== null) return;
    if (chosen.unknown !== null) {
      const message = `${quote(chosen.unknown)} is not the API group of a known ACK controller`;
      const group = chosen.suggestion ?? "the API group of the controller";
      const fix = chosen.unknown === INFRASTRUCTURE_GROUP
        ? CAPA_FIX
        : `use ${group}, or set --extra-groups of the webhook if this release does not know the group`;
      const path = annotationPath(INJECT_GROUP_ANNOTATION);
      const ofImage = groupOf({ ...pod, object: {} }, controller, injection.extraGroups).group;
      const repairs = chosen.unknown === INFRASTRUCTURE_GROUP
        ? by(WITHOUT_SIDECAR)
        : groupRepairs(path, ofImage, chosen.suggestion);
      yield { path, message, fix, repairs };
    } else if (sidecar === null) {
      // The arguments of an existing sidecar name its groups.
      const message = `the image ${quote(controller.image)} is not a known image of an ACK controller`;
      const fix = `${POD_03.fix}; if the Pod needs no sidecar, set its label ${INJECT_LABEL} to "false"`;
      const repairs = [{ when: "if the Pod needs no sidecar", edits: [WITHOUT_SIDECAR] }];
      yield { path: containerPath(controller, "image"), message, fix, repairs };
    }
  },
};

const WITHOUT_SIDECAR = set(["metadata", "labels", { key: INJECT_LABEL }], "false");

/** Only the image proves the group: that with a similar name is a guess. */
function groupRepairs(path: FieldPath, ofImage: string | null, similar: string | null): readonly Repair[] {
  if (ofImage !== null) return ofImage === similar ? safely(set(path, ofImage)) : by(set(path, ofImage));
  return similar === null ? [] : by(set(path, similar));
}

/** The creation of a Pod that requests a sidecar. */
export interface PodCreation {
  readonly pod: Pod;
  readonly choice: Controllers;
  /** The containers of the controller; [] if they are unknown, or if the Pod requests no sidecar. */
  readonly controllers: readonly Container[];
  readonly sidecar: Container | null;
  /** Uses of reserved names; [] if the Pod requests no sidecar. The injection does not change a Pod that has some. */
  readonly reserved: readonly ReservedUse[];
  readonly injection: InjectionSettings;
}

export function podCreation(object: JsonObject, { injection }: DecisionSettings): PodCreation {
  const pod = decodePod(object);
  const choice = controllersOf(pod);
  const controllers = choice.found && isRequested(pod) ? choice.containers : [];
  const reserved = isRequested(pod) ? reservedUses(pod, choice, injection) : [];
  return { pod, choice, controllers, reserved, sidecar: sidecarOf(pod), injection };
}
