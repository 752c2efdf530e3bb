import {
  AssumeRoleCommand, type AssumeRoleCommandInput, GetCallerIdentityCommand, type STSClient,
  type Credentials as STSSession,
} from "@aws-sdk/client-sts";
import { ResolverError } from "../../shared/decisions/errors.ts";
import { accountOfARN } from "../../shared/decisions/kubernetes/arn.ts";
import type { SessionRequest, SessionTag } from "../../shared/decisions/selectors/session.ts";
import type { CallerIdentity, Credentials, SigningCredentials } from "../credentials/session.ts";
import { STSConnection } from "./connection.ts";
import { readSTSEndpoint } from "./endpoint.ts";
import { metricCode, toResolverError } from "./errors.ts";

/**
 * The STS actions that the sidecar uses. The methods reject with ERR_STS_REFUSED, ERR_STS_UNAVAILABLE or
 * ERR_BASE_UNAVAILABLE.
 */
export interface STS {
  assumeRole(base: SigningCredentials, request: SessionRequest, signal: AbortSignal): Promise<Credentials>;
  callerIdentity(base: SigningCredentials, signal: AbortSignal): Promise<CallerIdentity>;
  /**
   * How far the local clock is behind the clock of STS, in ms, according to the last STS response. The value is 0 if
   * the local clock is not behind.
   */
  readonly clockLagMs: number;
}

export interface STSOptions {
  /** The URL of a custom STS endpoint; null selects the regional endpoint of `region`. */
  readonly endpoint: string | null;
  readonly region: string | null;
  /** Called after each STS call. `seconds` is the duration of the call. */
  readonly onCall?: (action: string, code: string, seconds: number) => void;
  /** Returns the current time in epoch ms; default Date.now. */
  readonly now?: () => number;
  /** Default 5 s. */
  readonly limitMs?: number;
}

/** The maximum duration of a call in ms, including the whole response. */
const CALL_LIMIT_MS = 5_000;
/** The signing region for a custom endpoint if --region is not set. */
const DEFAULT_REGION = "us-east-1";

/**
 * Returns an STS client that uses the AWS SDK. The client does not retry a call, because the cache retries failed
 * calls. A call takes at most 5 s, and a response has at most 64 KiB. The SDK does not follow redirects. The client
 * ignores AWS_ENDPOINT_URL* and the endpoint of a profile, because both can be the address of this sidecar.
 */
export function createSTS(options: STSOptions): STS {
  const { endpoint, region, onCall = () => {}, now = Date.now, limitMs = CALL_LIMIT_MS } = options;
  const url = readSTSEndpoint({ endpoint, region })?.href ?? null;
  const connection = new STSConnection({ endpoint: url, region: region ?? DEFAULT_REGION });
  const call = async <T>({ action, base, request, signal }: Call, send: Send<T>): Promise<T> => {
    const startedMs = performance.now();
    const report = (code: string): void => onCall(action, code, (performance.now() - startedMs) / 1000);
    const abortSignal = AbortSignal.any([signal, AbortSignal.timeout(limitMs)]);
    try {
      const result = await connection.send(base, (client) => send(client, { abortSignal }));
      report("ok");
      return result;
    } catch (error) {
      report(metricCode(error));
      throw toResolverError(action, error, secretsOf(base, request));
    }
  };
  return {
    get clockLagMs() {
      return connection.clockLagMs;
    },
    assumeRole: (base, request, signal) =>
      call({ action: "AssumeRole", base, request, signal }, async (client, abort) => {
        const latestMs = now() + request.durationSeconds * 1000;
        const output = await client.send(new AssumeRoleCommand(assumeRoleInput(request)), abort);
        const { Credentials: session, AssumedRoleUser: user, PackedPolicySize: packedPolicySize } = output;
        const accountID = accountOfARN(request.roleARN) ?? "";
        const identity = { accountID, arn: user?.Arn ?? "", userID: user?.AssumedRoleId ?? "" };
        const size = packedPolicySize === undefined ? {} : { packedPolicySize };
        return { ...readSession(session, latestMs), ...identity, ...size };
      }),
    callerIdentity: (base, signal) =>
      call({ action: "GetCallerIdentity", base, request: null, signal }, async (client, abort) => {
        const { Account = "", Arn = "", UserId = "" } = await client.send(new GetCallerIdentityCommand({}), abort);
        return { accountID: Account, arn: Arn, userID: UserId };
      }),
  };
}

interface Call {
  readonly action: string;
  readonly base: SigningCredentials;
  readonly request: SessionRequest | null;
  readonly signal: AbortSignal;
}

type Send<T> = (client: STSClient, options: { readonly abortSignal: AbortSignal }) => Promise<T>;

function assumeRoleInput(request: SessionRequest): AssumeRoleCommandInput {
  const { roleARN, sessionName, durationSeconds, externalID, sourceIdentity, tags, policy, policyARNs } = request;
  const { transitiveTagKeys } = request;
  return {
    RoleArn: roleARN,
    RoleSessionName: sessionName,
    DurationSeconds: durationSeconds,
    ...(externalID === null ? {} : { ExternalId: externalID }),
    ...(sourceIdentity === null ? {} : { SourceIdentity: sourceIdentity }),
    ...(tags.length === 0 ? {} : { Tags: tags.map(({ key, value }: SessionTag) => ({ Key: key, Value: value })) }),
    ...(transitiveTagKeys.length === 0 ? {} : { TransitiveTagKeys: [...transitiveTagKeys] }),
    ...(policy === null ? {} : { Policy: policy }),
    ...(policyARNs.length === 0 ? {} : { PolicyArns: policyARNs.map((arn) => ({ arn })) }),
  };
}

/**
 * Returns the credentials of an AssumeRole response. Throws if a field is missing. STS sets the expiration by its own
 * clock. If the local clock is behind, this expiration is too late on the local clock, so the returned expiration is
 * never after `latestMs`. If the local clock is ahead, the expiration is too early, which is safe.
 */
function readSession(session: STSSession | undefined, latestMs: number): SigningCredentials {
  const { AccessKeyId = "", SecretAccessKey = "", SessionToken = "", Expiration } = session ?? {};
  const endsMs = Expiration?.getTime() ?? Number.NaN;
  if ([AccessKeyId, SecretAccessKey, SessionToken].includes("") || Number.isNaN(endsMs)) {
    const message = "STS returned incomplete credentials for AssumeRole. Retry the request.";
    throw new ResolverError("ERR_STS_UNAVAILABLE", message);
  }
  const expirationMs = Math.min(endsMs, latestMs);
  return { accessKeyID: AccessKeyId, secretAccessKey: SecretAccessKey, sessionToken: SessionToken, expirationMs };
}

/**
 * Returns the secrets of the request and of the credentials that sign it, and the access key ID, which can come from a
 * Secret. They are removed from error messages, because STS can quote them.
 */
function secretsOf(
  { accessKeyID, secretAccessKey, sessionToken }: SigningCredentials, request: SessionRequest | null,
): string[] {
  const { externalID = null, policy = null, tags = [] } = request ?? {};
  const values = [accessKeyID, secretAccessKey, sessionToken, externalID, policy, ...tags.map(({ value }) => value)];
  return values.filter((text) => text !== null).filter((text) => text !== "");
}
