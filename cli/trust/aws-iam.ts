import {
  GetAccountAuthorizationDetailsCommand, type GetAccountAuthorizationDetailsCommandOutput, IAMClient,
} from "@aws-sdk/client-iam";
import { loadConfig, NODE_REGION_CONFIG_FILE_OPTIONS, NODE_REGION_CONFIG_OPTIONS } from "@smithy/core/config";
import { LISTS } from "../../shared/trust/authorization-details.ts";
import type { JSONElement } from "../../shared/trust/json-elements.ts";
import { proxyOptions } from "../../sidecar/sts-upstream/connection.ts";

/** The maximum of IAM. */
const PAGE_ITEMS = 1_000;
/** The maximum times to connect and to receive a response, in ms. */
const TIME_LIMITS = { connectionTimeout: 5_000, requestTimeout: 60_000 } as const;
/** IAM limits the rate of this call for each account. */
const MAX_ATTEMPTS = 5;

/**
 * Returns a client of IAM with the credentials, the endpoint and the partition of a profile. `default` stands for what
 * the AWS CLI uses without --profile, for example the environment.
 */
export function iamClientOf(profile: string): IAMClient {
  const stated = profile === "default" ? {} : { profile };
  // The region decides only the partition: IAM has one endpoint in each.
  const region = loadConfig(
    { ...NODE_REGION_CONFIG_OPTIONS, default: "us-east-1" }, { ...NODE_REGION_CONFIG_FILE_OPTIONS, ...stated },
  );
  const requestHandler = { ...TIME_LIMITS, httpsAgent: proxyOptions() };
  return new IAMClient({ ...stated, region, requestHandler, maxAttempts: MAX_ATTEMPTS });
}

/** Returns the elements of `get-account-authorization-details` as the AWS CLI prints them, but page by page. */
export async function* authorizationDetails(client: Pick<IAMClient, "send">): AsyncGenerator<JSONElement, void, void> {
  let marker: string | undefined;
  const counts = new Map<string, number>();
  do {
    const command = new GetAccountAuthorizationDetailsCommand({ MaxItems: PAGE_ITEMS, Marker: marker });
    // oxlint-disable-next-line no-await-in-loop -- a page contains the marker of the next one
    const page = await client.send(command);
    yield* elementsOf(page, counts);
    marker = page.IsTruncated === true ? page.Marker : undefined;
  } while (marker !== undefined);
  for (const key of LISTS) yield { key, index: null, value: [] };
}

function* elementsOf(
  page: GetAccountAuthorizationDetailsCommandOutput, counts: Map<string, number>,
): Generator<JSONElement, void, void> {
  for (const key of LISTS) {
    for (const value of page[key] ?? []) {
      const index = counts.get(key) ?? 0;
      counts.set(key, index + 1);
      yield { key, index, value };
    }
  }
}
