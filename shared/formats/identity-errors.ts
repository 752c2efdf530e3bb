import type { ErrorEntry } from "./error-entry.ts";

/** The errors of a request for the role of a Cluster API identity. */
export const IDENTITY_ERRORS = {
  ERR_IDENTITY_UNKNOWN: {
    status: 404, retry: false,
    meaning: "The identity, or the source of an identity, does not exist.",
    example: 'AWSClusterRoleIdentity "team-a" does not exist. Create the identity, or change the reference.',
    fix: "create the identity, or correct the name in identityRef or sourceIdentityRef; "
      + "an AWSClusterControllerIdentity must have the name default",
  },
  ERR_IDENTITY_KIND: {
    status: 404, retry: false,
    meaning: "The kind of the identity is unknown, or not supported by the runtime or at this place.",
    example: 'The kind "AWSClusterRoleIdentities" of identityRef is not the kind of an identity.',
    fix: "write a kind that the message names; for an AWSServiceAccountIdentity, set --runtime extended if the "
      + "controller supports it",
  },
  ERR_IDENTITY_NAMESPACE: {
    status: 403, retry: false,
    meaning: "An identity of the chain does not allow the namespace. The message names the identity.",
    example: 'AWSClusterRoleIdentity "team-a" does not allow the namespace "shop": allowedNamespaces.list does not '
      + "contain the namespace.",
    fix: "add the namespace to spec.allowedNamespaces.list of the identity that the message names, or use another "
      + "identity",
  },
  ERR_IDENTITY_SELECTOR: {
    status: 403, retry: false,
    meaning: "The label selector of an identity is not valid, and its list does not contain the namespace.",
    example: 'AWSClusterRoleIdentity "team-a" does not allow the namespace "shop": allowedNamespaces.list does not '
      + "contain the namespace, and allowedNamespaces.selector.matchExpressions[0].operator: \"in\" is not a valid "
      + "operator: expected one of In, NotIn, Exists, DoesNotExist.",
    fix: "correct the selector of the identity, or add the namespace to its allowedNamespaces.list",
  },
  ERR_IDENTITY_CYCLE: {
    status: 409, retry: false,
    meaning: "An identity is its own source, directly or through other identities.",
    example: 'The sources of the identities form a cycle of AWSClusterRoleIdentities: "a" -> "b" -> "a". '
      + "Change the sourceIdentityRef of one of them.",
    fix: "change spec.sourceIdentityRef of one of the identities, so that the chain ends at an "
      + "AWSClusterControllerIdentity or AWSClusterStaticIdentity",
  },
  ERR_IDENTITY_DEPTH: {
    status: 409, retry: false,
    meaning: "The chain of identities has more than 8 roles.",
    example: 'The chain has more than 8 AWSClusterRoleIdentities; AWSClusterRoleIdentity "i" is number 9.',
    fix: "change spec.sourceIdentityRef of an identity, so that the chain has fewer roles",
  },
  ERR_IDENTITY_SECRET: {
    status: 409, retry: false,
    meaning: "The static identity names no Secret with an access key, or STS rejects the access key.",
    example: 'AWSClusterStaticIdentity "legacy" has no access key in the Secret capa-system/legacy: the Secret '
      + "does not exist.",
    fix: "write the keys AccessKeyID and SecretAccessKey into the Secret in the namespace of CAPA that the identity "
      + "names; for a sidecar, also set --identity-secret-namespace",
  },
  ERR_IDENTITY_SESSION: {
    status: 409, retry: false,
    meaning: "An identity of the chain has parameters that STS would reject. An example is a session of more than 3600 "
      + "seconds in a chain.",
    example: 'durationSeconds of AWSClusterRoleIdentity "team-a" is 7200, but its role is assumed with the credentials '
      + "of a session, for which STS allows at most 3600 seconds (role chaining).",
    fix: "correct the fields of the identity that the message names",
  },
  ERR_IDENTITY_ACCOUNT: {
    status: 403, retry: false,
    meaning: "The account of an identity of the chain is not in --allowed-accounts.",
    example: 'The role of AWSClusterRoleIdentity "team-a" is in account 444455556666, which is not in '
      + "--allowed-accounts.",
    fix: "use a role of an allowed account, or add the account to --allowed-accounts of the sidecar",
  },
  ERR_IDENTITY_AUDIENCE: {
    status: 403, retry: false,
    meaning: "An audience of the AWSServiceAccountIdentity is not in --allowed-audiences.",
    example: 'The audience "vault" of AWSServiceAccountIdentity "team-a" is not in --allowed-audiences.',
    fix: "remove the audience from spec.audiences; add it to --allowed-audiences only if no other service accepts "
      + "tokens with it",
  },
  ERR_IDENTITY_TOKEN: {
    status: 409, retry: false,
    meaning: "The sidecar cannot request a token of the identity's ServiceAccount. The ServiceAccount or a Role is "
      + "missing, or the sidecar has no API server.",
    example: 'AWSServiceAccountIdentity "team-a" cannot be used: with --from, the sidecar has no API server that '
      + "issues tokens of ServiceAccounts. Use --cluster.",
    fix: "create the ServiceAccount of the identity's name in its namespace, and grant the sidecar the verb create on "
      + "its serviceaccounts/token; run the sidecar with --cluster",
  },
} as const satisfies Record<string, ErrorEntry>;
