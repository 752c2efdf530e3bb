/** What this project reads and writes of others' objects stands under it. */
export const RESOLVER_PREFIX = "ack-role-resolver.io/";

/** `ack-role-resolver.io/allow: IRS-15,IRS-19` waives those checks for the object that carries it. */
export const WAIVER_ANNOTATION = `${RESOLVER_PREFIX}allow`;
/** `ack-role-resolver.io/replaces: NAME,...` on the selector that takes over. */
export const REPLACES_ANNOTATION = `${RESOLVER_PREFIX}replaces`;

// What the sessions of a selector's role are to be like.
export const EXTERNAL_ID_ANNOTATION = `${RESOLVER_PREFIX}external-id`;
export const SESSION_NAME_ANNOTATION = `${RESOLVER_PREFIX}session-name`;
export const SOURCE_IDENTITY_ANNOTATION = `${RESOLVER_PREFIX}source-identity`;
export const SESSION_TAGS_ANNOTATION = `${RESOLVER_PREFIX}session-tags`;
export const DURATION_SECONDS_ANNOTATION = `${RESOLVER_PREFIX}duration-seconds`;

/** All that is read of an IAMRoleSelector. */
export const SELECTOR_ANNOTATIONS: ReadonlySet<string> = new Set([
  WAIVER_ANNOTATION, REPLACES_ANNOTATION, EXTERNAL_ID_ANNOTATION, SESSION_NAME_ANNOTATION, SOURCE_IDENTITY_ANNOTATION, SESSION_TAGS_ANNOTATION,
  DURATION_SECONDS_ANNOTATION,
]);
