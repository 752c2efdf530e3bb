import { getDefaultRoleAssumer, getDefaultRoleAssumerWithWebIdentity } from "@aws-sdk/client-sts";
import { fromNodeProviderChain } from "@aws-sdk/credential-providers";
import { type EndpointSettings, proxyOptions } from "../sts-upstream/connection.ts";

export type ProviderChain = ReturnType<typeof fromNodeProviderChain>;

/** Returns the default provider chain of the AWS SDK. The chain sends its STS calls only to `endpoint`. */
export function makeProviderChain({ region, endpoint }: EndpointSettings): ProviderChain {
  const clientConfig = { ignoreConfiguredEndpointUrls: true, ...(region === null ? {} : { region }) };
  const requestHandler = { httpsAgent: proxyOptions() };
  const sts = { ...clientConfig, requestHandler, ...(endpoint === null ? {} : { endpoint }) };
  return fromNodeProviderChain({
    clientConfig,
    roleAssumer: getDefaultRoleAssumer(sts),
    roleAssumerWithWebIdentity: getDefaultRoleAssumerWithWebIdentity(sts),
  });
}
