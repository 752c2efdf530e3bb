import type { Grant, RoleGrant } from "../../shared/core/grant.ts";
import type { EffectiveSelector } from "../../shared/core/effective-selector.ts";
import type { UpstreamSTSError } from "../sts-upstream/errors.ts";

/** The roles that one check probes. Each role belongs to an object, and is probed under the name of the object. */
export interface ProbedRoles {
  readonly check: string;
  /** The kind of the objects, in log lines. */
  readonly of: string;
  /** Whether a role is probed again that the sidecar does not grant now, although its object has not changed. */
  readonly retries: boolean;
  /** Yields the name of each object, and a key that changes if its role may change; null if it has no usable role. */
  roles(): Iterable<readonly [name: string, key: string | null]>;
  /** Returns the role of the object, or null if the sidecar does not grant it now. */
  target(name: string): ProbeTarget | null;
}

export interface ProbeTarget {
  readonly roleARN: string;
  /** Whether the role cannot be assumed because STS rejected the role of its source. */
  readonly isBlocked: boolean;
  /** Returns a cached session, or requests a new one at the lowest priority. */
  assume(): Promise<unknown>;
  /** Whether the error is about this role, and not about the role of its source. */
  isRejected(error: UpstreamSTSError): boolean;
}

interface ProbedSelectorsPorts {
  readonly selectors: () => Iterable<EffectiveSelector>;
  /** Decides whether the selector grants its role to the controller of this sidecar. */
  readonly grantOf: (selector: string) => Grant;
  /** Rejects with UpstreamSTSError if STS rejects the call. */
  readonly assume: (grant: RoleGrant) => Promise<unknown>;
}

/** Returns the roles of the selectors, for check IRS-27. */
export function probedSelectors({ selectors, grantOf, assume }: ProbedSelectorsPorts): ProbedRoles {
  /** Without the selectors that have no usable role: a namespace of theirs can be created. */
  const keys = new WeakMap<EffectiveSelector, string>();
  const keyOf = (name: string): string | null => {
    const grant = grantOf(name);
    return grant.verdict === "role" ? JSON.stringify([grant.roleARN, grant.extras]) : null;
  };
  return {
    check: "IRS-27",
    of: "selector",
    retries: false,
    *roles() {
      for (const selector of selectors()) {
        const key = keys.get(selector) ?? keyOf(selector.name);
        if (key !== null) keys.set(selector, key);
        yield [selector.name, key];
      }
    },
    target(name) {
      const grant = grantOf(name);
      if (grant.verdict !== "role") return null;
      return { roleARN: grant.roleARN, isBlocked: false, assume: () => assume(grant), isRejected: () => true };
    },
  };
}
