import {
  AssumeRoleCommand, type AssumeRoleCommandInput, GetCallerIdentityCommand, type STSClient,
  type Credentials as STSSession,
} from "@aws-sdk/client-sts";
import { ResolverError } from "../../shared/decisions/errors.ts";
import { accountOfARN } from "../../shared/decisions/kubernetes/arn.ts";
import type { SessionRequest, SessionTag } from "../../shared/decisions/selectors/session.ts";
import type { Credentials } from "../credentials/session.ts";
import { type SigningCredentials, STSConnection } from "./connection.ts";
import { readSTSEndpoint } from "./endpoint.ts";
import { boundedCode, explain } from "./errors.ts";

/** Whom GetCallerIdentity names. */
export type CallerIdentity = Pick<Credentials, "accountID" | "arn" | "userID">;

/** STS as the sidecar needs it. Both reject with ERR_STS_REFUSED, ERR_STS_UNAVAILABLE or ERR_BASE_UNAVAILABLE. */
export interface STS {
  assumeRole(base: SigningCredentials, request: SessionRequest, signal: AbortSignal): Promise<Credentials>;
  /** Whose the credentials are. */
  callerIdentity(base: SigningCredentials, signal: AbortSignal): Promise<CallerIdentity>;
  /** By how much this machine's clock is behind STS's, in ms, as its last answer said; 0 where it is not. */
  readonly behindMs: number;
}

export interface STSOptions {
  /** Null: the regional endpoint of `region`. */
  readonly endpoint: string | null;
  readonly region: string | null;
  /** `seconds` is how long the call took. */
  readonly onCall?: (action: string, code: string, seconds: number) => void;
  /** Epoch ms; default Date.now. */
  readonly now?: () => number;
  /** Default 5 s. */
  readonly limitMs?: number;
}

/** A call that takes longer, to the last byte of its answer, has failed. */
const CALL_LIMIT_MS = 5_000;
/** Signs for an emulator where no region was given. */
const ANY_REGION = "us-east-1";

/**
 * STS over the AWS SDK: one attempt a call, since repeating is the cache's business, no redirects (the SDK's handler follows
 * none), no more than 5 s and 64 KiB, and no endpoint from AWS_ENDPOINT_URL* or a profile, which may well be this sidecar's own.
 */
export function createSTS({ endpoint, region, onCall = () => {}, now = Date.now, limitMs = CALL_LIMIT_MS }: STSOptions): STS {
  const url = readSTSEndpoint({ endpoint, region })?.href ?? null;
  const connection = new STSConnection({ endpoint: url, region: region ?? ANY_REGION });
  const call = async <T>({ action, base, request, signal }: Call, send: (client: STSClient, options: { abortSignal: AbortSignal }) => Promise<T>): Promise<T> => {
    const startedMs = performance.now();
    const tell = (code: string): void => onCall(action, code, (performance.now() - startedMs) / 1000);
    const abortSignal = AbortSignal.any([signal, AbortSignal.timeout(limitMs)]);
    try {
      const result = await connection.ask(base, (client) => send(client, { abortSignal }));
      tell("ok");
      return result;
    } catch (error) {
      tell(boundedCode(error));
      throw explain(action, error, secretsOf(base, request));
    }
  };
  return {
    get behindMs() {
      return connection.behindMs;
    },
    assumeRole: (base, request, signal) =>
      call({ action: "AssumeRole", base, request, signal }, async (client, options) => {
        const latestMs = now() + request.durationSeconds * 1000;
        const { Credentials: session, AssumedRoleUser: user, PackedPolicySize: packedPolicySize } = await client.send(
          new AssumeRoleCommand(assumeRoleInput(request)), options,
        );
        const identity = { accountID: accountOfARN(request.roleARN) ?? "", arn: user?.Arn ?? "", userID: user?.AssumedRoleId ?? "" };
        return { ...readSession(session, latestMs), ...identity, ...(packedPolicySize !== undefined && { packedPolicySize }) };
      }),
    callerIdentity: (base, signal) =>
      call({ action: "GetCallerIdentity", base, request: null, signal }, async (client, options) => {
        const { Account = "", Arn = "", UserId = "" } = await client.send(new GetCallerIdentityCommand({}), options);
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
 * Throws where something is absent. STS's end of a session is by STS's clock. On a machine whose clock is behind it would come too late by as
 * much, so the session never lasts longer here than was asked for; on one that is ahead it comes too early by as much, which is on the safe side.
 */
function readSession(session: STSSession | undefined, latestMs: number): SigningCredentials {
  const { AccessKeyId = "", SecretAccessKey = "", SessionToken = "", Expiration } = session ?? {};
  const endsMs = Expiration?.getTime() ?? Number.NaN;
  if ([AccessKeyId, SecretAccessKey, SessionToken].includes("") || Number.isNaN(endsMs)) {
    throw new ResolverError("ERR_STS_UNAVAILABLE", "STS answered AssumeRole without whole credentials; ask again.");
  }
  return { accessKeyID: AccessKeyId, secretAccessKey: SecretAccessKey, sessionToken: SessionToken, expirationMs: Math.min(endsMs, latestMs) };
}

/** What must not stand in a message, although STS repeats it: what it was asked with, and what signed that. */
function secretsOf({ secretAccessKey, sessionToken }: SigningCredentials, request: SessionRequest | null): string[] {
  const { externalID = null, policy = null, tags = [] } = request ?? {};
  return [secretAccessKey, sessionToken, externalID, policy, ...tags.map(({ value }) => value)].filter((text) => text !== null).filter((text) => text !== "");
}
