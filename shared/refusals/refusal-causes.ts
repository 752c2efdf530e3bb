import {
  type Cause, denialIn, type Refusal, type RefusedCall, type RefusedToken, type Row, type STSAnswer,
} from "./refused-call.ts";
import { ROLE_CAUSES } from "./role-causes.ts";
import { quote } from "../formats/text.ts";

/** Returns the likely cause of a refusal. `principal` is the text that the fix names as the caller. */
export function causeOf(answer: STSAnswer, call: RefusedCall, principal: string): Cause {
  const base = { answer, denial: denialIn(answer), principal };
  const own = call.action === "AssumeRole" ? first(ROLE_CAUSES, { ...base, call })
    : first(TOKEN_CAUSES, { ...base, call });
  return own ?? OTHER_CAUSES.get(answer.code) ?? UNKNOWN;
}

function first<Call>(rows: readonly Row<Call>[], refusal: Refusal<Call>): Cause | null {
  for (const { applies, explain } of rows) {
    const cause = applies?.(refusal) === false ? null : explain(refusal);
    if (cause !== null) return cause;
  }
  return null;
}

const UNKNOWN: Cause = {
  cause: "it does not accept the call", fix: "correct what its message names", shownBy: null,
};

/** The causes of both calls, by the code of STS. */
const OTHER_CAUSES: ReadonlyMap<string, Cause> = new Map(Object.entries<Cause>({
  MalformedPolicyDocument: {
    cause: "the session policy is not valid", shownBy: null,
    fix: "correct the session policy of the request, or the annotation session-policy of the selector",
  },
  PackedPolicyTooLarge: {
    cause: "the session policy exceeds what STS can store in a session", shownBy: null,
    fix: "shorten the session policy; without one of your own, it is the session scope of the controller: set the "
      + "annotation session-scope: none of the selector",
  },
  RegionDisabledException: {
    cause: "STS is not active in the region of the sidecar for this account",
    fix: "activate STS in the region, or set another --region of the sidecar", shownBy: null,
  },
  ValidationError: {
    cause: "a parameter is not valid", fix: "correct the parameter that the message names", shownBy: null,
  },
}));

/** The causes of rejected credentials, by the code of STS. The fixes are sentences without their full stop. */
const SIGNER_CAUSES: ReadonlyMap<string, SignerCause> = new Map(Object.entries({
  InvalidClientTokenId: {
    cause: "AWS does not know its access key, which can be deleted, inactive, or of another partition",
    fix: "Correct the credentials of the sidecar, or its --region",
  },
  SignatureDoesNotMatch: {
    cause: "the secret access key is wrong, or the clock of the node",
    fix: "Correct the credentials of the sidecar, or synchronize the clock",
  },
}));
const EXPIRED: SignerCause = {
  cause: "its credentials have expired",
  fix: "The sidecar gets new ones for the next request; if they expire too, check the EKS Pod Identity agent, the "
    + "token file of IRSA and the clock of the node",
};
const UNSIGNED: SignerCause = {
  cause: "the request has no complete signature", fix: "Check the proxy between the sidecar and STS",
};

type SignerCause = Pick<Cause, "cause" | "fix">;

/** Returns the likely cause of rejected credentials. */
export function signerCause(code: string): SignerCause {
  if (/^(ExpiredToken|ExpiredTokenException|RequestExpired)$/.test(code)) return EXPIRED;
  return SIGNER_CAUSES.get(code) ?? UNSIGNED;
}

/**
 * The causes of a refused call of AssumeRoleWithWebIdentity:
 * https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRoleWithWebIdentity.html
 */
const TOKEN_CAUSES: readonly Row<RefusedToken>[] = [
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
