/**
 * Returns whether `pattern` matches the whole of `text`. `*` stands for any number of characters, including none. All
 * other characters stand for themselves. Searches each part of the pattern only once, without backtracking, because the
 * leftmost occurrence of a part leaves the most text for the next part.
 */
export function matchesPattern(pattern: string, text: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop();
  if (last === undefined) return text === pattern;
  if (!text.startsWith(first)) return false;
  let from = first.length;
  for (const part of rest) {
    const at = text.indexOf(part, from);
    if (at < 0) return false;
    from = at + part.length;
  }
  return text.length - from >= last.length && text.endsWith(last);
}

/** The name of a service account in `--controller-users`. No user name of Kubernetes or AWS has this form. */
const SERVICE_ACCOUNT = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\/[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;

/** The ACK controllers in the cluster, as NAMESPACE/NAME, and patterns of the user names of others. */
interface Controllers {
  readonly controllerServiceAccounts: readonly string[];
  readonly controllerUsers: readonly string[];
}

/** Returns the service accounts and the patterns of user names in the values of `--controller-users`. */
export function controllersOf(users: readonly string[]): Controllers {
  return {
    controllerServiceAccounts: users.filter((user) => SERVICE_ACCOUNT.test(user)),
    controllerUsers: users.filter((user) => !SERVICE_ACCOUNT.test(user)),
  };
}
