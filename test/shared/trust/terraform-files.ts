import { document } from "./iam-export.ts";
import { allow, APP, type Fields, grant } from "./trust-cases.ts";

export const TRUST = JSON.stringify(document(allow({ AWS: APP })));
export const GRANT = JSON.stringify(document(grant()));
export const ADDRESS = "aws_iam_role.app";

export interface ResourceFields {
  /** Null if the plan deletes it. */
  readonly values?: Fields | null;
  readonly before?: Fields;
  readonly unknown?: Fields;
  readonly mode?: string;
  readonly actions?: readonly string[];
}

/** Returns a resource of a state, from its address. */
export function resource(address: string, values: Fields, mode = "managed"): Fields {
  const [type = ""] = /aws_\w+/.exec(address) ?? [];
  return { address, mode, type, name: "x", values };
}

export function state(...resources: readonly Fields[]): Fields {
  const [first, ...others] = resources;
  const child = { address: "module.m", resources: others, child_modules: [{ address: "module.m.module.n" }] };
  return { format_version: "1.0", values: { root_module: { resources: [first], child_modules: [child] } } };
}

/** Returns a plan. A resource that is null is deleted. */
export function plan(resources: Readonly<Record<string, ResourceFields | null>>, configuration: Fields = {}): Fields {
  return {
    format_version: "1.2", configuration: { root_module: configuration },
    resource_changes: Object.entries(resources).map(([address, fields]) => ({
      ...resource(address, {}, fields?.mode), values: undefined,
      change: {
        actions: fields?.actions ?? [], before: fields?.before ?? null, after_unknown: fields?.unknown ?? {},
        after: fields === null ? null : fields.values === undefined ? {} : fields.values,
      },
    })),
  };
}

export function roleValues(fields: Fields = {}): Fields {
  return { name: "app", path: "/team/", assume_role_policy: TRUST, max_session_duration: 3600, ...fields };
}
