import { REQUIRED } from "../core/own-role-permission.ts";
import { SELECTORS } from "./selectors.ts";
import { RESOURCES } from "./resources.ts";
import type { ACKResource } from "../core/ack-resource.ts";
import {
  DEFAULT_REGION_ANNOTATION, ENDPOINT_URL_ANNOTATION, REGION_ANNOTATION, SELECTOR_REQUIRED_ANNOTATION,
} from "../core/annotation-keys.ts";
import { isRegion, parseARN, partitionOfRegion } from "../formats/arn.ts";
import { annotationPath, type FieldPath } from "../formats/json.ts";
import { NameIndex } from "../formats/nearest.ts";
import { by, meant, remove, type Repair, set } from "../core/repair.ts";
import { regionRepairs } from "../core/meant-values.ts";
import { quote, sortedListOf } from "../formats/text.ts";
import type { EffectiveSelector } from "../core/effective-selector.ts";
import type { Fault, QuickCheck } from "../core/check.ts";
import { listResources } from "../core/fault-texts.ts";
import { annotationOf, type NamespaceChange, type NamespaceState } from "../core/namespace-change.ts";
import { mayWaive } from "../core/waiver.ts";
import { checkOf } from "../core/field-rule.ts";
import { ENDPOINT_URL, FILLED, hostOfURL, REGION_NAME } from "../core/value-types.ts";
import { NEEDS } from "../core/requirements.ts";
import { ACK_NEEDS } from "./requirements.ts";

export const NS_17: QuickCheck<NamespaceChange> = {
  id: "NS-17",
  severity: "deny",
  reason: "Without this check, any user who can write a namespace could remove "
    + `\`${SELECTOR_REQUIRED_ANNOTATION}\` and use the controllers' own role. Every user may set it to \`"true"\`. `
    + "Only a waiver user may remove that value, or write another value. `\"false\"` permits that role with "
    + "`--profile strict`.",
  fix: `set ${SELECTOR_REQUIRED_ANNOTATION} to "true", or ask a user in --waiver-users or in a group in `
    + "--waiver-groups to change it",
  example: `kubectl annotate namespace team-a ${SELECTOR_REQUIRED_ANNOTATION}- # by a user who is not a waiver user`,
  requires: [NEEDS.requester],
  ofChange: true, // the webhook does not know who wrote the stored object
  *find({ requester, settings, state, stored }): Iterable<Fault> {
    if (requester === null || mayWaive(requester, settings)) return;
    const before = stored?.annotations.get(SELECTOR_REQUIRED_ANNOTATION);
    const after = state.annotations.get(SELECTOR_REQUIRED_ANNOTATION);
    if (after === before || after === REQUIRED || (after === undefined && before !== REQUIRED)) return;
    const change = after === undefined ? "remove the annotation" : `set it to ${quote(after)}`;
    const message = `the requester ${quote(requester.username)} is not a waiver user and may not ${change}`;
    const path = annotationPath(SELECTOR_REQUIRED_ANNOTATION);
    yield { path, message, fix: NS_17.fix, repairs: by(set(path, before)) };
  },
};

const REGION_FIX = "set a region of the controllers' partition, such as eu-west-1";
const REGION_PATH = annotationPath(DEFAULT_REGION_ANNOTATION);

export const NS_07 = checkOf<NamespaceChange>({
  id: "NS-07",
  severity: "deny",
  reason: "Controllers accept any text as a region. With an invalid region, every AWS call for the resources of the "
    + "namespace fails.",
  fix: REGION_FIX,
  example: "metadata: {annotations: {services.k8s.aws/default-region: Frankfurt}}",
  at: [REGION_PATH],
  type: REGION_NAME,
  within: FILLED,
  says: (value, fault) => `${value} ${fault}`,
  policySays: "the value is not a region",
  repairs: (value, path) => regionRepairs(path, value),
}, function* otherPartition(region, { settings }) {
  const [partition, ofControllers] = [partitionOfRegion(region), partitionOfRegion(settings.region ?? "")];
  if (partition === null || ofControllers === null || partition === ofControllers) return;
  const found = `region ${quote(region)} is in partition ${partition}`;
  const message = `${found}, but the controllers are in partition ${ofControllers}`;
  yield { message, fix: REGION_FIX, repairs: by(remove(REGION_PATH)) };
});

function isOfEveryNamespace({ namespaces, namespaceLabels }: EffectiveSelector): boolean {
  return namespaces === null && namespaceLabels === null;
}

/** The part of NS-07 that compares the region with the roles of the selectors that select the namespace. */
export const NS_07_OF_ROLES: QuickCheck<NamespaceChange> = {
  ...NS_07,
  when: ({ settings: { mode }, state }) => (
    mode === "selectors" && isRegion(annotationOf(state, DEFAULT_REGION_ANNOTATION))
  ),
  *find({ inventory, name, state }): Iterable<Fault> {
    const region = annotationOf(state, DEFAULT_REGION_ANNOTATION);
    const partition = partitionOfRegion(region);
    const selecting = inventory.of(SELECTORS).inNamespace(name, state.labels);
    const isUsable = ({ roleARN }: EffectiveSelector): boolean => parseARN(roleARN)?.partition === partition;
    if (partition === null || selecting.length === 0 || selecting.some(isUsable)) return;
    // Only a namespace without a usable role of its own is compared with the selectors of all namespaces.
    for (const one of inventory.of(SELECTORS).values()) if (isOfEveryNamespace(one) && isUsable(one)) return;
    const names = sortedListOf(selecting.map((selector) => selector.name));
    const message = `region ${quote(region)} is in partition ${partition}, but no role of its selectors is: ${names}`;
    const fix = "set a region of the partition of these roles";
    yield { path: REGION_PATH, message, fix, repairs: by(remove(REGION_PATH)) };
  },
};

export const NS_07B: QuickCheck<NamespaceChange> = {
  id: "NS-07b",
  severity: "warn",
  reason: "A resource stays in the region in which it was created. "
    + "If its desired region changes, controllers never reconcile it, and set no condition on it.",
  fix: "keep the default region, or first set services.k8s.aws/region of these resources to their current region",
  example: "metadata: {annotations: {services.k8s.aws/default-region: eu-west-1}} "
    + "# was us-east-1, where a Bucket exists",
  requires: [ACK_NEEDS.resources],
  on: ["UPDATE"],
  ofChange: true,
  *find({ inventory, name, settings, stored, state }): Iterable<Fault> {
    const after = defaultRegionOf(state, settings.region);
    if (stored === null || after === defaultRegionOf(stored, settings.region)) return;
    const before = defaultRegionOf(stored, settings.region);
    const affected = [...inventory.of(RESOURCES).inNamespace(name)].filter((resource) => (
      usesDefaultRegion(resource) && resource.status.region !== after
      && (before === null || resource.status.region === before)
    ));
    if (affected.length === 0) return;
    const effect = after === null
      ? "the namespace no longer sets a default region, which is the region"
      : `the default region becomes ${quote(after)}, which is not the region`;
    const message = listResources(affected, (count) => `${effect} of ${count}`);
    const repairs = by(set(REGION_PATH, stored.annotations.get(DEFAULT_REGION_ANNOTATION)));
    yield { path: REGION_PATH, message, fix: NS_07B.fix, repairs };
  },
};

/** Returns the region of resources that have no region annotation; null if no default region is set. */
function defaultRegionOf(state: NamespaceState, controllerRegion: string | null): string | null {
  const region = annotationOf(state, DEFAULT_REGION_ANNOTATION);
  return region === "" ? controllerRegion : region;
}

/** Whether the resource exists in AWS and has no region annotation. */
function usesDefaultRegion({ annotations, status }: ACKResource): boolean {
  return status.region !== null && (annotations.get(REGION_ANNOTATION) ?? "") === "";
}

export const NS_08 = checkOf<NamespaceChange>({
  id: "NS-08",
  severity: "deny",
  reason: "Controllers do not validate the endpoint URL, and send all AWS requests of the namespace to this URL. "
    + "These requests include signed AssumeRole calls, which contain a session token. The operator of the endpoint "
    + "sees every request and can return any response; `--allowed-endpoint-hosts` limits the hosts.",
  fix: "set https://HOST or https://HOST:PORT, without credentials or a query",
  example: "metadata: {annotations: {services.k8s.aws/endpoint-url: 'http://minio.team-a.svc'}}",
  at: [annotationPath(ENDPOINT_URL_ANNOTATION)],
  type: ENDPOINT_URL,
  within: FILLED,
  says: (_, fault) => fault,
  eachFault: true,
  policySays: "the endpoint is not an https URL without credentials, query and fragment",
  repairs: (value, path) => endpointRepairs(path, value),
});

/** Returns the repair that drops what is not allowed. A text with another `@` could contain a part of a password. */
function endpointRepairs(path: FieldPath, url: string): readonly Repair[] {
  const cleaned = url.trim().replace(/^(https?:\/\/)?([^/?#@]*:[^/?#@]*@)?/i, "https://").replace(/[?#].*$/s, "");
  const isKnown = !cleaned.includes("@") && ENDPOINT_URL.faults(cleaned).length === 0;
  return isKnown ? by(set(path, cleaned)) : [];
}

export const NS_08_HOSTS: QuickCheck<NamespaceChange> = {
  ...NS_08,
  requires: [NEEDS.allowedEndpointHosts],
  fix: "use a host that --allowed-endpoint-hosts lists, or add the host to that flag",
  *find({ state, settings: { allowedEndpointHosts } }): Iterable<Fault> {
    const url = annotationOf(state, ENDPOINT_URL_ANNOTATION);
    if (url === "" || ENDPOINT_URL.faults(url).length > 0) return;
    const hostAndPort = hostOfURL(url);
    const host = hostAndPort.replace(/:[0-9]*$/, "");
    const allowed = new Set(allowedEndpointHosts.map((entry) => entry.toLowerCase()));
    if (allowed.has(host) || allowed.has(hostAndPort)) return;
    const hosts = allowedEndpointHosts.join(", ");
    const message = `the endpoint host ${quote(host)} is not one of the allowed hosts ${hosts}`;
    const path = annotationPath(ENDPOINT_URL_ANNOTATION);
    const nearest = new NameIndex(allowed).nearest(host).map((name) => url.replace(/\/\/[^/:]*/, `//${name}`));
    const repairs = nearest.length > 0 ? meant(path, nearest) : by(remove(path));
    yield { path, message, fix: NS_08_HOSTS.fix, repairs };
  },
};
