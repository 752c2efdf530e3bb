import { type Cause, denialIn, type RefusedCall, type Refusal, type Row, type STSAnswer } from "./refused-call.ts";
import { ROLE_CAUSES } from "./role-causes.ts";
import { TOKEN_CAUSES } from "./token-causes.ts";

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
    cause: "the session policy is not valid", fix: "correct the session policy of the request", shownBy: null,
  },
  PackedPolicyTooLarge: {
    cause: "the session policy exceeds what STS can store in a session", fix: "shorten the session policy",
    shownBy: null,
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
