import type { FastifyInstance } from "fastify";
import type { Registry } from "prom-client";
import type { KubernetesAPI } from "../shared/api/api.ts";
import type { SteadyClock } from "../shared/core/clock.ts";
import type { Logger } from "../shared/server/logger.ts";
import type { WatchedState } from "../shared/server/readiness.ts";
import type { InventorySource } from "../shared/sources/source.ts";
import type { AuditLog } from "./audit-log.ts";
import type { BaseIdentity } from "./base/identity.ts";
import type { CredentialCache } from "./credentials/cache.ts";
import type { EventLog } from "./event-log.ts";
import type { IssueCredentials } from "./http/credential-routes.ts";
import type { SidecarOptions, SidecarSettings } from "./options.ts";
import type { ProbedRoles } from "./probe/probed-roles.ts";
import type { RoleEvents } from "./role-events.ts";
import type { STS } from "./sts-upstream/client.ts";

/** Serves the credentials of a source of roles that has an endpoint of its own. */
export interface Extension {
  /** Adds the routes of the endpoint, unless the settings switch it off. */
  readonly addRoutes: (app: FastifyInstance, issue: IssueCredentials) => void;
  /** The roles that checks probe. */
  readonly probed: readonly ProbedRoles[];
  /** A watch beside the inventory; null if there is none. */
  readonly watched: WatchedState | null;
  readonly close: () => void;
}

/** What an extension uses of the sidecar. */
export interface ExtensionPorts {
  readonly settings: SidecarSettings;
  readonly options: SidecarOptions;
  readonly source: InventorySource;
  /** The client of the API server; undefined if the inventory consists of manifests. */
  readonly api?: KubernetesAPI;
  readonly clock: SteadyClock;
  readonly random: () => number;
  readonly log: Logger;
  readonly registry: Registry;
  readonly base: BaseIdentity;
  readonly sts: STS;
  readonly sessions: CredentialCache;
  readonly audit: AuditLog;
  readonly events: EventLog;
  /** Null if the inventory consists of manifests. */
  readonly roleEvents: RoleEvents | null;
}

/** Starts an extension. */
export type StartExtension = (ports: ExtensionPorts) => Extension;
