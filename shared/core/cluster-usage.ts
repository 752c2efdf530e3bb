import type { IdentityReference } from "./capa-kinds.ts";

/** The number of clusters that refer to an identity. */
export interface IdentityUsage extends IdentityReference {
  /** The namespace of an AWSServiceAccountIdentity; otherwise null. */
  readonly namespace: string | null;
  readonly clusters: number;
}

/** The number of clusters whose identity is in an account. */
interface AccountUsage {
  /** An `accountText`, or `an unknown account`. */
  readonly account: string;
  readonly clusters: number;
}

/** The clusters of some objects. A cluster consists of all objects of one Cluster that have an identityRef. */
export interface ClusterUsage {
  readonly clusters: number;
  /** The identities and accounts with the most clusters, in this order, at most `MAX_COUNTED` of each. */
  readonly byIdentity: readonly IdentityUsage[];
  readonly byAccount: readonly AccountUsage[];
  /** The numbers of the identities and accounts that the lists omit. */
  readonly omittedIdentities: number;
  readonly omittedAccounts: number;
}

export const NO_USAGE: ClusterUsage = {
  clusters: 0, byIdentity: [], byAccount: [], omittedIdentities: 0, omittedAccounts: 0,
};
