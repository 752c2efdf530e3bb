import { ACK_GROUPS } from "../ack-groups.ts";
import { serviceOf } from "../carm.ts";
import { closest } from "../closest.ts";
import { quote } from "../quote.ts";
import type { Check, Fault } from "./check.ts";
import { type ConfigMapChange, keyPath } from "./config-map-change.ts";

/** `s3.111122223333` is the id 111122223333 for the service s3, and 111122223333 the id alone. */
export function keyParts(key: string): { readonly service: string | null; readonly id: string } {
  const dot = key.indexOf(".");
  return dot < 0 ? { service: null, id: key } : { service: key.slice(0, dot), id: key.slice(dot + 1) };
}

const SERVICES: ReadonlySet<string> = new Set(ACK_GROUPS.map(serviceOf));

export const CM_04: Check<ConfigMapChange> = {
  id: "CM-04",
  severity: "warn",
  waivable: false,
  reason: "Controllers look up their own service's name, a dot and the id, and then the id alone; a key with another name in front is found by none of them unless an id has just that form.",
  fix: "write ID or SERVICE.ID with a service of ACK, such as s3.111122223333",
  example: "data: {s4.111122223333: 'arn:aws:iam::111122223333:role/a'}",
  *find({ data, inventory }): Iterable<Fault> {
    const installed = new Set([...inventory.groups].map(serviceOf));
    for (const key of data.keys()) {
      const { id, service } = keyParts(key);
      if (service === null) continue;
      if (id === "") yield { path: keyPath(key), message: "the key has no id after the dot" };
      else if (!SERVICES.has(service) && !installed.has(service)) yield unknownService(key, service, id);
    }
  },
};

function unknownService(key: string, service: string, id: string): Fault {
  const meant = closest(service, SERVICES);
  const fix = meant === null ? {} : { fix: `write ${meant}.${id}, if that is the service` };
  return { path: keyPath(key), message: `${quote(service)} is no service of ACK`, ...fix };
}

export const CM_13: Check<ConfigMapChange> = {
  id: "CM-13",
  severity: "warn",
  waivable: false,
  reason: "Controllers look for keys of their own service only with their feature gate ServiceLevelCARM.",
  fix: "have the controllers run with ServiceLevelCARM, and say so with --service-level-carm, or remove the key",
  example: "data: {s3.111122223333: 'arn:aws:iam::111122223333:role/a'} # with --mode carm alone",
  *find({ data, settings }): Iterable<Fault> {
    if (settings.mode !== "carm" || settings.serviceLevelCARM) return;
    for (const key of data.keys()) {
      const { service } = keyParts(key);
      if (service !== null && SERVICES.has(service)) yield { path: keyPath(key), message: `the key is for ${service} alone, and ignored, since --service-level-carm is not on` };
    }
  },
};
