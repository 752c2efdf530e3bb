import {
  AssumeRoleCommand, type AssumeRoleCommandInput, AssumeRoleWithWebIdentityCommand, type AssumedRoleUser,
  GetCallerIdentityCommand, type STSClient, type Credentials as STSSession,
} from "@aws-sdk/client-sts";
import { accountOfARN, sessionARN } from "../../shared/formats/arn.ts";
import type { SessionRequest, SessionTag } from "../../shared/core/session.ts";
import type { CallerIdentity, Credentials, SigningCredentials } from "../credentials/session.ts";
import { type EndpointSettings, STSConnection } from "./connection.ts";
import { metricCode, OtherSessionError, toResolverError, WEB_IDENTITY_ACTION } from "./errors.ts";

/**
 * The STS actions that the sidecar uses. The methods reject with ERR_STS_REFUSED, ERR_STS_UNAVAILABLE or
 * ERR_BASE_UNAVAILABLE.
 */
export interface STS {
  assumeRole(base: SigningCredentials, request: SessionRequest, signal: AbortSignal): Promise<Credentials>;
  /**
   * Assumes the role with a token of an OIDC provider. The call is not signed. Of the parameters of the request, STS
   * accepts only the session name, the duration and the policies.
   */
  assumeRoleWithWebIdentity(token: string, request: SessionRequest, signal: AbortSignal): Promise<Credentials>;
  callerIdentity(base: SigningCredentials, signal: AbortSignal): Promise<CallerIdentity>;
  /**
   * How far the local clock is behind the clock of STS, in ms, according to the last signed call. The value is 0 if
   * the local clock is not behind.
   */
  readonly clockLagMs: number;
}

export interface STSOptions extends EndpointSettings {
  /** Called after each STS call. `seconds` is the duration of the call. */
  readonly onCall?: (action: string, code: string, seconds: number) => void;
  /** Returns the current time in epoch ms; default Date.now. */
  readonly now?: () => number;
}

/** The signing region for a custom endpoint if --region is not set. */
const DEFAULT_REGION = "us-east-1";

/**
 * Returns an STS client that uses the AWS SDK. The client does not retry a call, because the cache retries failed
 * calls, and aborts those that take too long. A response has at most 64 KiB. The SDK does not follow redirects. The
 * client ignores AWS_ENDPOINT_URL* and the endpoint of a profile, because both can be the address of this sidecar.
 */
export function createSTS(options: STSOptions): STS {
  const { endpoint, region, onCall = () => {}, now = Date.now } = options;
  const connection = new STSConnection({ endpoint, region: region ?? DEFAULT_REGION });
  const call = async <T>({ action, signer, secrets, signal }: Call, send: Send<T>): Promise<T> => {
    const startedMs = performance.now();
    const report = (code: string): void => onCall(action, code, (performance.now() - startedMs) / 1000);
    try {
      const result = await connection.send(signer, (client) => send(client, { abortSignal: signal }));
      report("ok");
      return result;
    } catch (error) {
      report(metricCode(error));
      throw toResolverError(action, error, secrets.filter((text) => text !== null).filter((text) => text !== ""));
    }
  };
  return {
    get clockLagMs() {
      return connection.clockLagMs;
    },
    assumeRole: (base, request, signal) => {
      const secrets = [...secretsOf(base), ...secretsIn(request)];
      return call({ action: "AssumeRole", signer: base, secrets, signal }, async (client, abort) => {
        const latestMs = now() + request.durationSeconds * 1000;
        const command = new AssumeRoleCommand(assumeRoleInput(request));
        return readSession(request, await client.send(command, abort), latestMs);
      });
    },
    assumeRoleWithWebIdentity: (token, request, signal) => {
      const secrets = [...secretsOfToken(token), ...secretsIn(request)];
      return call({ action: WEB_IDENTITY_ACTION, signer: null, secrets, signal }, async (client, abort) => {
        const latestMs = now() + request.durationSeconds * 1000;
        const command = new AssumeRoleWithWebIdentityCommand({ ...commonInput(request), WebIdentityToken: token });
        return readSession(request, await client.send(command, abort), latestMs);
      });
    },
    callerIdentity: (base, signal) =>
      call({ action: "GetCallerIdentity", signer: base, secrets: secretsOf(base), signal }, async (client, abort) => {
        const { Account = "", Arn = "", UserId = "" } = await client.send(new GetCallerIdentityCommand({}), abort);
        return { accountID: Account, arn: Arn, userID: UserId };
      }),
  };
}

interface Call {
  readonly action: string;
  /** Null for a call that is not signed. */
  readonly signer: SigningCredentials | null;
  /** The secrets of the call. They are removed from error messages, because STS can quote them. */
  readonly secrets: readonly (string | null)[];
  readonly signal: AbortSignal;
}

type Send<T> = (client: STSClient, options: { readonly abortSignal: AbortSignal }) => Promise<T>;

/** Returns the parameters that all actions have that assume a role. */
function commonInput(
  { roleARN, sessionName, durationSeconds, policy, policyARNs }: SessionRequest,
): Pick<AssumeRoleCommandInput, "RoleArn" | "RoleSessionName" | "DurationSeconds" | "Policy" | "PolicyArns"> {
  return {
    RoleArn: roleARN,
    RoleSessionName: sessionName,
    DurationSeconds: durationSeconds,
    ...(policy === null ? {} : { Policy: policy }),
    ...(policyARNs.length === 0 ? {} : { PolicyArns: policyARNs.map((arn) => ({ arn })) }),
  };
}

function assumeRoleInput(request: SessionRequest): AssumeRoleCommandInput {
  const { externalID, sourceIdentity, tags, transitiveTagKeys } = request;
  return {
    ...commonInput(request),
    ...(externalID === null ? {} : { ExternalId: externalID }),
    ...(sourceIdentity === null ? {} : { SourceIdentity: sourceIdentity }),
    ...(tags.length === 0 ? {} : { Tags: tags.map(({ key, value }: SessionTag) => ({ Key: key, Value: value })) }),
    ...(transitiveTagKeys.length === 0 ? {} : { TransitiveTagKeys: [...transitiveTagKeys] }),
  };
}

/** The response of an action that assumes a role. */
interface SessionOutput {
  readonly Credentials?: STSSession | undefined;
  readonly AssumedRoleUser?: AssumedRoleUser | undefined;
  readonly PackedPolicySize?: number | undefined;
  readonly SourceIdentity?: string | undefined;
  readonly $metadata: { readonly requestId?: string | undefined };
}

/**
 * Returns the session in the response. A missing field is empty, and the cache rejects incomplete credentials. Throws
 * an OtherSessionError if the session is not the requested one: a client must never get the keys of another role.
 */
function readSession(request: SessionRequest, output: SessionOutput, latestMs: number): Credentials {
  const { Credentials: session, AssumedRoleUser: user, PackedPolicySize: size } = output;
  const requested = sessionARN(request.roleARN, request.sessionName);
  if (user?.Arn !== requested) throw new OtherSessionError(requested, user?.Arn ?? null);
  const accountID = accountOfARN(request.roleARN) ?? "";
  const identity = { accountID, arn: requested, userID: user.AssumedRoleId ?? "" };
  // A session can inherit the source identity of its caller, so the response takes precedence.
  const sourceIdentity = output.SourceIdentity ?? request.sourceIdentity;
  const origin = { requestID: output.$metadata.requestId ?? null, sourceIdentity };
  return {
    ...readKeys(session, latestMs), ...identity, origin, ...(size === undefined ? {} : { packedPolicySize: size }),
  };
}

/**
 * Returns the credentials of a session. STS sets the expiration by its own clock. If the local clock is behind, this
 * expiration is too late on the local clock, so the returned expiration is never after `latestMs`. If the local clock
 * is ahead, the expiration is too early, which is safe.
 */
function readKeys(session: STSSession | undefined, latestMs: number): SigningCredentials {
  const { AccessKeyId = "", SecretAccessKey = "", SessionToken = "", Expiration } = session ?? {};
  const expirationMs = Math.min(Expiration?.getTime() ?? 0, latestMs);
  return { accessKeyID: AccessKeyId, secretAccessKey: SecretAccessKey, sessionToken: SessionToken, expirationMs };
}

/** Includes the access key ID, which can come from a Secret. */
function secretsOf({ accessKeyID, secretAccessKey, sessionToken }: SigningCredentials): readonly (string | null)[] {
  return [accessKeyID, secretAccessKey, sessionToken];
}

function secretsIn({ externalID, policy, tags }: SessionRequest): readonly (string | null)[] {
  return [externalID, policy, ...tags.map(({ value }) => value)];
}

/** A message can quote the token without its signature, or only a part of it. */
function secretsOfToken(token: string): readonly string[] {
  const [header = "", payload = "", signature = ""] = token.split(".");
  return [token, `${header}.${payload}`, payload, signature];
}
