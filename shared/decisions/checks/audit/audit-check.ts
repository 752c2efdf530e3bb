import type { DecisionSettings } from "../../context.ts";
import type { Identity } from "../../identities/identity.ts";
import type { Referrer } from "../../identities/referrer.ts";
import type { Inventory } from "../../inventory/inventory.ts";
import type { ACKResource } from "../../kubernetes/ack-resource.ts";
import type { JsonObject } from "../../kubernetes/json.ts";
import type { Region } from "../../resolution/region.ts";
import type { Resolution } from "../../resolution/resolve.ts";
import type { EffectiveSelector } from "../../selectors/effective.ts";
import type { CheckEntry, Fault } from "../check.ts";

/** The sections of the `audit` report, in the order of the report. In the JSON output, each section is a key. */
export const SECTIONS = [
  "malformed", "faulty", "conflicts", "refused", "drift", "unexpectedAccounts", "onDefault", "selectingNothing",
  "staleAnnotations", "unusableIdentities", "openIdentities", "missingSources", "checks",
] as const;
export type Section = (typeof SECTIONS)[number];

interface AuditedResource {
  readonly resource: ACKResource;
  readonly resolution: Resolution;
  readonly region: Region | null;
  readonly settings: DecisionSettings;
}

/** An object that refers to a CAPA identity. */
interface AuditedReferrer {
  readonly referrer: Referrer;
  readonly resolution: Resolution;
}

interface AuditedSelector {
  readonly selector: EffectiveSelector;
  readonly selectsResource: boolean;
  readonly settings: DecisionSettings;
}

/** A CustomResourceDefinition of an ACK kind or of IAMRoleSelector. */
interface AuditedDefinition {
  readonly group: string;
  readonly kind: string;
  readonly inventory: Inventory;
  /** All stored objects. */
  readonly objects: readonly JsonObject[];
  /** The groups of `--extra-groups`. */
  readonly extraGroups: readonly string[];
}

/** A stored CAPA identity. */
interface AuditedIdentity {
  readonly identity: Identity;
  readonly inventory: Inventory;
  readonly settings: DecisionSettings;
  /** The time of the audit, in ms. */
  readonly nowMs: number;
}

/** A check that only `audit` runs, in addition to the admission checks. */
export interface AuditCheck extends CheckEntry {
  readonly section: Section;
  /**
   * The admission checks that report the same problem. A finding of the audit check replaces the findings of these
   * admission checks.
   */
  readonly supersedes: readonly string[];
  readonly findInResource?: (subject: AuditedResource) => Iterable<Fault>;
  readonly findInReferrer?: (subject: AuditedReferrer) => Iterable<Fault>;
  readonly findInSelector?: (subject: AuditedSelector) => Iterable<Fault>;
  readonly findInDefinition?: (subject: AuditedDefinition) => Iterable<Fault>;
  readonly findInIdentity?: (subject: AuditedIdentity) => Iterable<Fault>;
}
