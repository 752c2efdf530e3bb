import { quote } from "../formats/text.ts";
import type { RefusedToken, Refusal, Row } from "./refused-call.ts";

/**
 * The causes of a refused call of AssumeRoleWithWebIdentity:
 * https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRoleWithWebIdentity.html
 */
export const TOKEN_CAUSES: readonly Row<RefusedToken>[] = [
  {
    applies: ({ denial }) => denial !== null,
    explain: ({ call }) => ({
      cause: "the role does not exist, or its trust policy does not allow the token",
      fix: `in the trust policy, allow sts:AssumeRoleWithWebIdentity to ${providerOf(call)}, on condition that ${
        claimsOf(call)}`,
      shownBy: "trust who",
    }),
  },
  {
    applies: hasCode("IDPRejectedClaim"),
    explain: ({ call }) => ({
      cause: `the trust policy or ${providerOf(call)} does not accept the claims of the token`,
      fix: `compare them with the trust policy and the audiences of the provider: ${claimsOf(call)}`,
      shownBy: "trust who",
    }),
  },
  {
    applies: hasCode("InvalidIdentityToken"),
    explain: ({ call }) => ({
      cause: "the account of the role has no such provider, or STS cannot read its public keys",
      fix: `create ${providerOf(call)} there, with the audience ${audiencesOf(call)}`, shownBy: null,
    }),
  },
  {
    applies: hasCode("ExpiredToken", "ExpiredTokenException"),
    explain: () => ({
      cause: "the token has expired, although the sidecar requests a new one for each call",
      fix: "synchronize the clock of the API server", shownBy: null,
    }),
  },
  {
    applies: hasCode("IDPCommunicationError"),
    explain: ({ call }) => ({
      cause: `STS cannot read the public keys of ${providerOf(call)}`,
      fix: "make them readable from the internet; the sidecar retries with a new token", shownBy: null,
    }),
  },
];

function hasCode(...codes: readonly string[]): (refusal: Refusal<RefusedToken>) => boolean {
  return ({ answer }) => codes.includes(answer.code);
}

function providerOf({ issuer }: RefusedToken): string {
  return `the OIDC provider of the ${issuer === "" ? "cluster" : `issuer ${quote(issuer)}`}`;
}

function audiencesOf({ audiences }: RefusedToken): string {
  return audiences.map(quote).join(" or ");
}

function claimsOf(call: RefusedToken): string {
  return `sub is ${call.subject} and aud is ${audiencesOf(call)}`;
}
