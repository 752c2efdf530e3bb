import {
  AssumeRoleCommand, type AssumeRoleCommandInput, GetCallerIdentityCommand, type STSClient,
  type Credentials as STSSession,
} from "@aws-sdk/client-sts";
import { ResolverError } from "../../shared/decisions/errors.ts";
import { accountOfARN } from "../../shared/decisions/kubernetes/arn.ts";
import type { SessionRequest, SessionTag } from "../../shared/decisions/selectors/session.ts";
import type { CallerIdentity, Credentials, SigningCredentials } from "../credentials/session.ts";
import { readSTSEndpoint, STSConnection } from "./connection.ts";
import { metricCode, toResolverError } from "./errors.ts";

/**
 * The part of STS that the sidecar uses. Both methods reject with ERR_STS_REFUSED, ERR_STS_UNAVAILABLE or
 * ERR_BASE_UNAVAILABLE.
 */
export interface STS {
  assumeRole(base: SigningCredentials, request: SessionRequest, signal: AbortSignal): Promise<Credentials>;
  callerIdentity(base: SigningCredentials, signal: AbortSignal): Promise<CallerIdentity>;
  /**
   * How far the local clock is behind the clock of STS, in ms, according to its last response; 0 if it is not behind.
   */
  readonly clockLagMs: number;
}

export interface STSOptions {
  /** Null selects the regional endpoint of `region`. */
  readonly endpoint: string | null;
  readonly region: string | null;
  /** `seconds` is the duration of the call. */
  readonly onCall?: (action: string, code: string, seconds: number) => void;
  /** Epoch ms; default Date.now. */
  readonly now?: () => number;
  /** Default 5 s. */
  readonly limitMs?: number;
}

/** Maximum duration of a call, including the whole response. */
const CALL_LIMIT_MS = 5_000;
/** Signing region for a custom endpoint without --region. */
const DEFAULT_REGION = "us-east-1";

/**
 * Creates an STS client on top of the AWS SDK. Each call has one attempt, because the cache retries. It takes at most 5
 * s and 64 KiB. The SDK's handler follows no redirects. The client ignores AWS_ENDPOINT_URL* and profiles, which can
 * name this sidecar as the endpoint.
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

/**
 * Throws if a field is missing. The expiration is on the clock of STS. If the local clock is behind, that expiration
 * would be too late, so the session ends at `latestMs` at the latest. If the local clock is ahead, the expiration is
 * too early, which is safe.
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
 * Returns the values that a message must not contain although STS can quote them: secrets of the request and of its
 * signer.
 */
function secretsOf({ secretAccessKey, sessionToken }: SigningCredentials, request: SessionRequest | null): string[] {
  const { externalID = null, policy = null, tags = [] } = request ?? {};
  const values = [secretAccessKey, sessionToken, externalID, policy, ...tags.map(({ value }) => value)];
  return values.filter((text) => text !== null).filter((text) => text !== "");
}
