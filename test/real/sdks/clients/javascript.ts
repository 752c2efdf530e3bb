// A program as users write them: the SDK's default chain finds its credentials, and STS at the given endpoint says whose they are.
import { GetCallerIdentityCommand, STSClient } from "@aws-sdk/client-sts";

const sts = new STSClient({ region: "eu-west-1", endpoint: process.argv[2] ?? "" });
const { Account: account, Arn: arn } = await sts.send(new GetCallerIdentityCommand({}));
const { accessKeyId, expiration } = await sts.config.credentials();
process.stdout.write(JSON.stringify({ account, arn, accessKeyID: accessKeyId, expires: expiration !== undefined }));
