import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { IAMClient } from "@aws-sdk/client-iam";
import { type Test, test } from "tap";
import { authorizationDetails, iamClientOf } from "../../../cli/trust/aws-iam.ts";
import { IAMData } from "../../../shared/trust/iam-data.ts";
import { IAMFile } from "../../../shared/trust/iam-inputs.ts";
import { ask } from "../../shared/trust/ask.ts";
import { document } from "../../shared/trust/iam-export.ts";
import { allow, NEAR, ROLE } from "../../shared/trust/trust-cases.ts";

const TRUST = encodeURIComponent(JSON.stringify(document(allow({ AWS: NEAR }))));

function role(arn: string): string {
  return `<member><Arn>${arn}</Arn><AssumeRolePolicyDocument>${TRUST}</AssumeRolePolicyDocument></member>`;
}

function page(roles: string, next: string): string {
  return `<GetAccountAuthorizationDetailsResponse xmlns="https://iam.amazonaws.com/doc/2010-05-08/">
    <GetAccountAuthorizationDetailsResult>${next}<UserDetailList/><RoleDetailList>${roles}</RoleDetailList>
    </GetAccountAuthorizationDetailsResult></GetAccountAuthorizationDetailsResponse>`;
}

/** Starts an IAM that answers each call with the next page, and returns its client and the bodies of the calls. */
async function startIAM(t: Test, ...pages: readonly string[]): Promise<{ client: IAMClient; calls: string[] }> {
  const calls: string[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => response.end(pages[calls.push(body) - 1]));
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the server listens on a port
  const { port } = server.address() as AddressInfo;
  const credentials = { accessKeyId: "AKIAEXAMPLE", secretAccessKey: "secret" };
  const client = new IAMClient({ endpoint: `http://127.0.0.1:${port}`, region: "us-east-1", credentials });
  t.teardown(() => {
    client.destroy();
    server.close();
  });
  return { client, calls };
}

test("reads all pages of an account as one complete export", async (t) => {
  const { client, calls } = await startIAM(
    t, page(role(ROLE), "<IsTruncated>true</IsTruncated><Marker>next</Marker>"), page(role(NEAR), ""),
  );
  const data = new IAMData();
  const file = new IAMFile({ data, file: "profile x", subject: null });
  for await (const element of authorizationDetails(client)) file.add(element);
  file.finish();
  t.match(calls, [/Action=GetAccountAuthorizationDetails.*MaxItems=1000/, /Marker=next/]);
  t.equal(ask(NEAR, data), "yes");
  t.equal(data.hasAll("role", ROLE), true);
});

test("the region of a profile decides only the partition, and has a default", async (t) => {
  const region = async (profile: string): Promise<unknown> => {
    const client = iamClientOf(profile);
    t.teardown(() => client.destroy());
    return await client.config.region();
  };
  t.match(await region("default"), /^[a-z]+-[a-z-]+-\d$/);
  t.match(await region("no-such-profile"), /^[a-z]+-[a-z-]+-\d$/);
});
