import { getDefaultRoleAssumer, getDefaultRoleAssumerWithWebIdentity } from "@aws-sdk/client-sts";
import { fromNodeProviderChain } from "@aws-sdk/credential-providers";

export type ProviderChain = ReturnType<typeof fromNodeProviderChain>;

export interface ProviderChainOptions {
  readonly region: string | null;
  /** Null selects the regional endpoint of STS. */
  readonly endpoint: string | null;
}

/** Returns the default provider chain of the AWS SDK. Its STS calls go only to `endpoint`. */
export function makeProviderChain({ region, endpoint }: ProviderChainOptions): ProviderChain {
  const clientConfig = { ignoreConfiguredEndpointUrls: true, ...(region === null ? {} : { region }) };
  const sts = { ...clientConfig, ...(endpoint === null ? {} : { endpoint }) };
  return fromNodeProviderChain({
    clientConfig,
    roleAssumer: getDefaultRoleAssumer(sts),
    roleAssumerWithWebIdentity: getDefaultRoleAssumerWithWebIdentity(sts),
  });
}
