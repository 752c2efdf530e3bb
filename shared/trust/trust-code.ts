/** The codes of what can be wrong with a role that an object names. `shared/trust/role-trust.ts` describes each. */
export const TRUST_CODES = {
  notAssumable: "TR-01", unknown: "TR-02", externalID: "TR-03", sessionTags: "TR-04", deleted: "TR-05",
  duration: "TR-06", packedSize: "TR-07", anyone: "TR-08", account: "TR-09", others: "TR-10",
} as const;
export type TrustCode = (typeof TRUST_CODES)[keyof typeof TRUST_CODES];
