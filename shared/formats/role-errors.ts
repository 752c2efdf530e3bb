import type { ErrorEntry } from "./error-entry.ts";

/** The errors of a request for a role that an IAMRoleSelector or a CARM map has, or should have. */
export const ROLE_ERRORS = {
  ERR_SELECTOR_CONFLICT: {
    status: 409, retry: false,
    meaning: "More than one IAMRoleSelector selects the resource.",
    example: "Cannot determine which IAMRoleSelector to use. Conflicting IAMRoleSelectors: "
      + "[storefront, storefront-media]",
    fix: "narrow one of the selectors, so that only one selects the resource, or name one in the annotation "
      + "ack-role-resolver.io/use-selector; `ack-role-resolver why TYPE/NAME` prints commands for both",
  },
  ERR_SELECTOR_CHOICE: {
    status: 409, retry: false,
    meaning: "The annotation use-selector names an IAMRoleSelector that does not select the resource.",
    example: "The annotation ack-role-resolver.io/use-selector of the namespace names IAMRoleSelector \"media\", which "
      + "does not exist. storefront selects the resource.",
    fix: "write the name of a selector that selects the resource into the annotation, or remove the annotation",
  },
  ERR_SELECTOR_UNKNOWN: {
    status: 404, retry: false,
    meaning: "No IAMRoleSelector with this name exists.",
    example: 'IAMRoleSelector "storefrnt" does not exist. Correct the name, or create the selector.',
    fix: "correct the name in the request; `kubectl get iamroleselectors` lists the names",
  },
  ERR_SELECTOR_MALFORMED: {
    status: 403, retry: false,
    meaning: "The IAMRoleSelector has a fault, so the sidecar does not grant its role.",
    example: "IAMRoleSelector analytics grants no role until its faults are corrected: "
      + 'spec.arn: "arn:aws:iam:444455556666:role/analytics" is not an ARN',
    fix: "correct the fields that the message names; `ack-role-resolver lint --cluster` prints each fault and its fix",
  },
  ERR_SELECTOR_NOT_GRANTED: {
    status: 403, retry: false,
    meaning: "No resource that the sidecar serves resolves to the role in an existing namespace. The message states "
      + "the reason, such as a conflict, or a namespace that is missing or too new.",
    example: "IAMRoleSelector storefront selects no existing namespace. If the namespace is new, retry in a moment; "
      + "otherwise, create it or correct spec.namespaceSelector.",
    fix: "change the selector so that it selects a resource of the sidecar's --group, or request the role of another "
      + "selector; `ack-role-resolver resolve --cluster` lists the role of each resource",
  },
  ERR_SELECTOR_EXTRAS: {
    status: 403, retry: false,
    meaning: "The IAMRoleSelectors of the role differ in their session settings, there are too many session tags, or "
      + "the request does not determine the value of a tag. The sidecar does not grant the role.",
    example: "IAMRoleSelectors shop, shop-media set different session settings for arn:aws:iam::111122223333:role/shop "
      + "(session-tags). Set the same annotation values on these selectors.",
    fix: "set the same session annotations on all selectors of the role; for a tag with {namespace}, request "
      + "/v1/credentials/namespaces/NS or set --scope-namespace of the sidecar",
  },
  ERR_SELECTOR_UNMATCHED: {
    status: 403, retry: false,
    meaning: "No IAMRoleSelector selects the resource or, with --mode carm, the namespace names no account or team. "
      + "The sidecar runs with --unmatched deny.",
    example: "No IAMRoleSelector selects s3.services.k8s.aws in namespace sandbox, and the sidecar runs with "
      + "--unmatched deny.",
    fix: "create a selector that selects the resource, or with --mode carm annotate the namespace; to let such "
      + "resources use the controller's own role, run the sidecar with --unmatched base",
  },
  ERR_SELECTOR_AMBIGUOUS: {
    status: 409, retry: false,
    meaning: "The role depends on a kind or a label that the request does not specify.",
    example: "In namespace shop the role depends on the labels of the resource, but the request has no labels. "
      + "IAMRoleSelectors that read labels: [media].",
    fix: "request /v1/credentials/namespaces/NS with kind=KIND.VERSION.GROUP, and with label=KEY=VALUE for each label "
      + "of the resource, or set --kind of the sidecar",
  },
  ERR_SELECTOR_ACCOUNT_PINNED: {
    status: 409, retry: false,
    meaning: "The role is in a different account from the first role of this sidecar process.",
    example: "The role is in account 444455556666, but this sidecar already issued credentials of account "
      + "111122223333. Restart the Pod to change the account.",
    fix: "delete the Pod if the controller has to move to the other account; otherwise, correct the selector whose "
      + "role is in the wrong account",
  },
  ERR_SESSION_POLICY: {
    status: 403, retry: false,
    meaning: "The request has session policies, and so has the IAMRoleSelector of the role.",
    example: "The IAMRoleSelector of the role has session policies, and STS cannot limit a session to what they and "
      + "those of the request allow.",
    fix: "remove Policy and PolicyArns from the request, or the annotations ack-role-resolver.io/session-policy and "
      + "session-policy-arns from the selector",
  },
  ERR_SESSION_SCOPE: {
    status: 403, retry: false,
    meaning: "What the controllers of a group need is not known, or is too long beside other session policies.",
    example: "With the session scope, the policy and the ARNs have 2,310 characters, and STS accepts 2048. Shorten the "
      + "session policy, or write ack-role-resolver.io/session-scope: none into the selector.",
    fix: "shorten the session policy of the selector, run a sidecar for each group, or write the annotation "
      + "ack-role-resolver.io/session-scope: none into the selector",
  },
  ERR_CARM_MAP_MISSING: {
    status: 403, retry: false,
    meaning: "The CARM ConfigMap of the namespace's annotation does not exist.",
    example: 'ConfigMap ack-system/ack-role-account-map does not exist, so key "111122223333" has no role.',
    fix: "create the ConfigMap with the key, or set --ack-system-namespace to the namespace that has it",
  },
  ERR_CARM_KEY_MISSING: {
    status: 403, retry: false,
    meaning: "The CARM ConfigMap has no entry for the namespace's account or team.",
    example: 'ConfigMap ack-system/ack-role-account-map has no key "111122223333".',
    fix: "add the key with the ARN of a role, or correct the account or team in the annotation of the namespace",
  },
  ERR_CARM_VALUE_EMPTY: {
    status: 403, retry: false,
    meaning: "The entry in the CARM ConfigMap is empty.",
    example: 'ConfigMap ack-system/ack-role-account-map has no role for key "111122223333".',
    fix: "write the ARN of a role as the value of the key",
  },
  ERR_CARM_ARN: {
    status: 403, retry: false,
    meaning: "The entry in the CARM ConfigMap is not the ARN of an IAM role.",
    example: 'The value "arn:aws:iam::111122223333:user/shop" of key "111122223333" in ConfigMap '
      + "ack-system/ack-role-account-map is not the ARN of an IAM role, so controllers cannot assume it.",
    fix: "write an ARN such as arn:aws:iam::111122223333:role/NAME as the value of the key",
  },
  ERR_NAMESPACE_UNKNOWN: {
    status: 404, retry: false,
    meaning: "The inventory has no Namespace with this name, or the Namespace exceeds a limit.",
    example: 'Namespace "shop" is not in the inventory. Create the Namespace, or correct the name.',
    fix: "correct the name or create the Namespace; if it exceeds a limit, remove labels and annotations from it",
  },
} as const satisfies Record<string, ErrorEntry>;
