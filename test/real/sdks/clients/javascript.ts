// A program as users write them with the AWS SDK for JavaScript: the default chain finds its credentials. Prints JSON; the SDK's own
// error goes to standard error, with exit code 1.
import { AssumeRoleCommand, GetCallerIdentityCommand, STSClient } from "@aws-sdk/client-sts";

const REGION = "eu-west-1";

async function whoami(endpoint: string): Promise<object> {
  const sts = new STSClient({ region: REGION, endpoint });
  const { Account: account, Arn: arn } = await sts.send(new GetCallerIdentityCommand({}));
  const { accessKeyId, expiration } = await sts.config.credentials();
  return { account, arn, accessKeyID: accessKeyId, expires: expiration !== undefined };
}

/** A client's own provider is the default chain's, kept as the SDK keeps it. */
async function retrieve(times: string): Promise<object> {
  const { config } = new STSClient({ region: REGION });
  const all: object[] = [];
  for (let i = 0; i < Number(times); i += 1) {
    const { accessKeyId, accountId, expiration } = await config.credentials();
    all.push({ accessKeyID: accessKeyId, accountID: accountId ?? null, expiration: expiration === undefined ? null : timestamp(expiration) });
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
    assumed: { arn: user?.Arn, accessKeyID: session?.AccessKeyId, expiration: session?.Expiration === undefined ? null : timestamp(session.Expiration) },
  };
}

function timestamp(at: Date): string {
  return `${at.toISOString().slice(0, 19)}Z`;
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
