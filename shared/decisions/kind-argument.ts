/** A kind as a person names it. Null parts were not said. */
export interface KindArgument {
  readonly kind: string;
  readonly version: string | null;
  readonly group: string | null;
}

const KIND = /^[A-Z][A-Za-z0-9]{0,62}$/;
// How Kubernetes writes API versions: https://kubernetes.io/docs/reference/using-api/#api-versioning
const VERSION = /^v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?$/;
const GROUP = /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/;

/** Reads `KIND`, `KIND.GROUP` or `KIND.VERSION.GROUP` (`Bucket.v1alpha1.s3.services.k8s.aws`); null for anything else. */
export function parseKindArgument(text: string): KindArgument | null {
  const [kind = "", ...rest] = text.split(".");
  if (!KIND.test(kind)) return null;
  if (rest.length === 0) return { kind, version: null, group: null };
  const [first = ""] = rest;
  const version = VERSION.test(first) && rest.length > 1 ? first : null;
  const group = rest.slice(version === null ? 0 : 1).join(".");
  return GROUP.test(group) ? { kind, version, group } : null;
}
