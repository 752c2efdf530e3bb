// A program that uses the default provider chain of the AWS SDK for JavaScript, as programs of users do. Prints JSON,
// or the error of the SDK on standard error with exit code 1.
import { AssumeRoleCommand, GetCallerIdentityCommand, STSClient } from "@aws-sdk/client-sts";

const REGION = "eu-west-1";

async function whoami(endpoint: string): Promise<object> {
  const sts = new STSClient({ region: REGION, endpoint });
  const { Account: account, Arn: arn } = await sts.send(new GetCallerIdentityCommand({}));
  const { accessKeyId, expiration } = await sts.config.credentials();
  return { account, arn, accessKeyID: accessKeyId, expires: expiration !== undefined };
}

/** The credential provider of an SDK client is the default provider chain, with the cache of the SDK. */
async function retrieve(times: string): Promise<object> {
  const { config } = new STSClient({ region: REGION });
  const all: object[] = [];
  for (let i = 0; i < Number(times); i += 1) {
    const { accessKeyId, accountId, expiration } = await config.credentials();
    all.push({ accessKeyID: accessKeyId, accountID: accountId ?? null, expiration: timestamp(expiration) });
  }
  return all;
}

async function assume(roleARN: string, sessionName: string): Promise<object> {
  const sts = new STSClient({ region: REGION });
  const { Account: account, Arn: arn } = await sts.send(new GetCallerIdentityCommand({}));
  const { AssumedRoleUser: user, Credentials: session } = await sts.send(
    new AssumeRoleCommand({ RoleArn: roleARN, RoleSessionName: sessionName, DurationSeconds: 900 }),
  );
  return {
    identity: { account, arn },
    assumed: { arn: user?.Arn, accessKeyID: session?.AccessKeyId, expiration: timestamp(session?.Expiration) },
  };
}

function timestamp(at: Date | undefined): string | null {
  return at === undefined ? null : `${at.toISOString().slice(0, 19)}Z`;
}

const MODES: Readonly<Record<string, (...args: [string, string]) => Promise<object>>> = { whoami, retrieve, assume };

const [mode = "", first = "", second = ""] = process.argv.slice(2);
try {
  const answer = await MODES[mode]?.(first, second);
  if (answer === undefined) throw new Error("usage: whoami STS_ENDPOINT | retrieve N | assume ROLE_ARN SESSION_NAME");
  process.stdout.write(JSON.stringify(answer));
} catch (error) {
  process.stderr.write(`${String(error)}\n`);
  process.exitCode = 1;
}
