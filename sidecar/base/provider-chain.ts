import { getDefaultRoleAssumer, getDefaultRoleAssumerWithWebIdentity } from "@aws-sdk/client-sts";
import { fromNodeProviderChain } from "@aws-sdk/credential-providers";

export type ProviderChain = ReturnType<typeof fromNodeProviderChain>;

export interface ProviderChainOptions {
  readonly region: string | null;
  /** Null: the regional endpoint of STS. */
  readonly endpoint: string | null;
}

/** The AWS SDK's default chain, asking `endpoint` and no other wherever it needs STS. */
export function makeProviderChain({ region, endpoint }: ProviderChainOptions): ProviderChain {
  const clientConfig = { ignoreConfiguredEndpointUrls: true, ...(region === null ? {} : { region }) };
  const sts = { ...clientConfig, ...(endpoint === null ? {} : { endpoint }) };
  return fromNodeProviderChain({
    clientConfig,
    roleAssumer: getDefaultRoleAssumer(sts),
    roleAssumerWithWebIdentity: getDefaultRoleAssumerWithWebIdentity(sts),
  });
}
