import { servesIdentities } from "../../shared/resolution/grant-by-identity.ts";
import { grantSelector } from "../../shared/resolution/grant-decision.ts";
import type { RoleQuery } from "../../shared/resolution/grant.ts";
import type { Clock } from "../../shared/clock.ts";
import type { InventorySource } from "../../shared/sources/source.ts";
import type { Logger } from "../../shared/server/logger.ts";
import { AssumeRoleProbe } from "./assume-role-probe.ts";
import type { BaseIdentity } from "../base/identity.ts";
import type { IdentitySessions } from "../identities/sessions.ts";
import type { Issuer } from "../credentials/issuer.ts";
import type { SidecarMetrics } from "../metrics.ts";
import { probedIdentities, probedSelectors } from "./probed-roles.ts";
import type { RefusedIdentities } from "../refused-roles/refused-identities.ts";

interface ProbePorts {
  readonly source: InventorySource;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
}

interface ProbeParts {
  readonly issuer: Pick<Issuer, "probe">;
  readonly base: Pick<BaseIdentity, "verified">;
  readonly metrics: SidecarMetrics;
  readonly identities: Pick<IdentitySessions, "get">;
  readonly refused: Pick<RefusedIdentities, "has">;
}

/**
 * Starts the probe and returns it if `--check IRS-27=...` or `--check CI-35=...` enables the probe; otherwise returns
 * null.
 */
export function startProbe(
  options: RoleQuery, { source, clock, random, log }: ProbePorts,
  { issuer, base, metrics, identities, refused }: ProbeParts,
): AssumeRoleProbe | null {
  const { inventory } = source;
  const isOn = (check: string): boolean => (options.settings.checkSeverities.get(check) ?? "off") !== "off";
  const probed = [
    ...(isOn("IRS-27") ? [probedSelectors({
      selectors: () => inventory.selectors.values(),
      grantOf: (name) => grantSelector(inventory, name, options),
      assume: (grant) => issuer.probe(grant),
      baseARN: () => base.verified?.arn ?? null,
    })] : []),
    ...(isOn("CI-35") && servesIdentities(options) ? [probedIdentities({
      inventory, query: options, isRefused: (identity) => refused.has(identity),
      assume: (grant) => identities.get(grant, { isAwaited: false }),
    })] : []),
  ];
  if (probed.length === 0) return null;
  const probe = new AssumeRoleProbe({ source, probed, clock, random, log, metrics });
  probe.start();
  return probe;
}
