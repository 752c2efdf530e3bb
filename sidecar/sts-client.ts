import { AssumeRoleCommand, type AssumeRoleCommandInput, type Credentials as STSSession, GetCallerIdentityCommand, STSClient } from "@aws-sdk/client-sts";
import { ResolverError } from "../shared/decisions/errors.ts";
import type { SessionRequest, SessionTag } from "../shared/decisions/session.ts";
import { accountOfARN } from "../shared/decisions/role-arn.ts";
import { isLoopbackHost } from "../shared/server/listen-address.ts";
import type { Credentials } from "./credential-cache.ts";
import { boundedCode, explain } from "./sts-faults.ts";

export { STSRefused } from "./sts-faults.ts";

/** Whom GetCallerIdentity names. */
export type CallerIdentity = Pick<Credentials, "accountID" | "arn" | "userID">;

/** The credentials that calls are signed with; whose they are may not be known yet. */
export type SigningCredentials = Omit<Credentials, keyof CallerIdentity>;

/** STS as the sidecar needs it. Both reject with ERR_STS_REFUSED, ERR_STS_UNAVAILABLE or ERR_BASE_UNAVAILABLE. */
export interface STS {
  assumeRole(base: SigningCredentials, request: SessionRequest, signal: AbortSignal): Promise<Credentials>;
  /** Whose the credentials are. */
  callerIdentity(base: SigningCredentials, signal: AbortSignal): Promise<CallerIdentity>;
}

export interface STSOptions {
  /** Null: the regional endpoint of `region`. */
  readonly endpoint: string | null;
  readonly region: string | null;
  /** `seconds` is how long the call took. */
  readonly onCall?: (action: string, code: string, seconds: number) => void;
}

/** Within the cache's own limit, so that a socket is never left behind. */
const TIMEOUTS = { connectionTimeout: 2_000, requestTimeout: 5_000, throwOnRequestTimeout: true } as const;
/** Signs for an emulator where no region was given. */
const ANY_REGION = "us-east-1";

/**
 * STS over the AWS SDK: one attempt a call, since repeating is the cache's business, no redirects (the SDK's handler follows
 * none), and no endpoint from AWS_ENDPOINT_URL* or a profile, which may well be this sidecar's own.
 */
export function createSTS({ endpoint, region, onCall = () => {} }: STSOptions): STS {
  if (endpoint === null && region === null) {
    throw new ResolverError("ERR_CONFIG_INVALID", "--region is needed for the regional STS endpoint; give it, or an endpoint with --sts-endpoint.");
  }
  const url = endpoint === null ? null : parseSTSEndpoint(endpoint).href;
  const clientFor = lastClient({ endpoint: url, region: region ?? ANY_REGION });
  const call = async <T>(action: string, work: () => Promise<T>): Promise<T> => {
    const startedMs = performance.now();
    const tell = (code: string): void => onCall(action, code, (performance.now() - startedMs) / 1000);
    try {
      const result = await work();
      tell("ok");
      return result;
    } catch (error) {
      tell(boundedCode(error));
      throw explain(action, error);
    }
  };
  return {
    assumeRole: (base, request, signal) =>
      call("AssumeRole", async () => {
        const command = new AssumeRoleCommand(assumeRoleInput(request));
        const { Credentials: session, AssumedRoleUser: user } = await clientFor(base).send(command, { abortSignal: signal });
        const identity = { accountID: accountOfARN(request.roleARN) ?? "", arn: user?.Arn ?? "", userID: user?.AssumedRoleId ?? "" };
        return { ...readSession(session ?? {}), ...identity };
      }),
    callerIdentity: (base, signal) =>
      call("GetCallerIdentity", async () => {
        const { Account = "", Arn = "", UserId = "" } = await clientFor(base).send(new GetCallerIdentityCommand({}), { abortSignal: signal });
        return { accountID: Account, arn: Arn, userID: UserId };
      }),
  };
}

function assumeRoleInput(request: SessionRequest): AssumeRoleCommandInput {
  const { roleARN, sessionName, durationSeconds, externalID, sourceIdentity, tags, policy, policyARNs } = request;
  return {
    RoleArn: roleARN,
    RoleSessionName: sessionName,
    DurationSeconds: durationSeconds,
    ...(externalID === null ? {} : { ExternalId: externalID }),
    ...(sourceIdentity === null ? {} : { SourceIdentity: sourceIdentity }),
    ...(tags.length === 0 ? {} : { Tags: tags.map(({ key, value }: SessionTag) => ({ Key: key, Value: value })) }),
    ...(policy === null ? {} : { Policy: policy }),
    ...(policyARNs.length === 0 ? {} : { PolicyArns: policyARNs.map((arn) => ({ arn })) }),
  };
}

/** What is absent reads as empty, or as long expired: the cache takes either for a failure. */
function readSession({ AccessKeyId = "", SecretAccessKey = "", SessionToken = "", Expiration }: Partial<STSSession>): SigningCredentials {
  return { accessKeyID: AccessKeyId, secretAccessKey: SecretAccessKey, sessionToken: SessionToken, expirationMs: Expiration?.getTime() ?? 0 };
}

/** Throws ERR_CONFIG_INVALID unless it is https, or http to this machine, without user or query. */
export function parseSTSEndpoint(text: string): URL {
  const url = URL.parse(text);
  if (url !== null && isSafeEndpoint(url)) return url;
  // The value itself is not repeated: it may hold a password.
  throw new ResolverError("ERR_CONFIG_INVALID", "--sts-endpoint must be an https URL, or http to a loopback address, without user, password, query or fragment.");
}

function isSafeEndpoint({ protocol, hostname, username, password, search, hash }: URL): boolean {
  if (`${username}${password}${search}${hash}` !== "") return false;
  return protocol === "https:" || (protocol === "http:" && isLoopbackHost(hostname.replace(/^\[|\]$/g, "")));
}

/** A client for the credentials that were used last: they change twice an hour, and a client costs milliseconds. */
function lastClient({ endpoint, region }: { readonly endpoint: string | null; readonly region: string }): (base: SigningCredentials) => STSClient {
  let last: { readonly base: SigningCredentials; readonly client: STSClient } | null = null;
  return (base) => {
    if (last !== null && last.base.accessKeyID === base.accessKeyID && last.base.sessionToken === base.sessionToken) return last.client;
    const { accessKeyID, secretAccessKey, sessionToken } = base;
    const client = new STSClient({
      region,
      credentials: { accessKeyId: accessKeyID, secretAccessKey, ...(sessionToken === null ? {} : { sessionToken }) },
      ...(endpoint === null ? {} : { endpoint }),
      ignoreConfiguredEndpointUrls: true,
      useFipsEndpoint: false,
      useDualstackEndpoint: false,
      maxAttempts: 1,
      requestHandler: TIMEOUTS,
    });
    last = { base, client };
    return client;
  };
}
