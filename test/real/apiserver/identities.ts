import { randomUUID } from "node:crypto";

/**
 * The users of the tests. Each user has a token, groups, and a kubeconfig context that has the name of the user.
 * Initially, only `admin` and the components of a node have rights. To act as another user, impersonate the user as
 * admin: `kubectl --as` or the header `Impersonate-User`.
 */
export const IDENTITIES = {
  admin: { username: "admin", groups: ["system:masters"] },
  jane: { username: "jane", groups: ["developers"] },
  webhook: serviceAccount("ack-role-resolver", "ack-role-resolver-webhook"),
  certificates: serviceAccount("ack-role-resolver", "ack-role-resolver-certificates"),
  controller: serviceAccount("ack-system", "ack-s3-controller"),
  capa: serviceAccount("capa-system", "capa-controller-manager"),
  // The API server grants rights to these users by default:
  // kubernetes.io/docs/reference/access-authn-authz/rbac/#core-component-roles
  "kube-controller-manager": { username: "system:kube-controller-manager", groups: [] },
  "kube-scheduler": { username: "system:kube-scheduler", groups: [] },
  "kube-proxy": { username: "system:kube-proxy", groups: [] },
  kubelet: { username: "system:node:node", groups: ["system:nodes"] },
} as const;

export type Identity = keyof typeof IDENTITIES;
export type Tokens = Readonly<Record<Identity, string>>;

export function randomTokens(): Tokens {
  return {
    admin: randomUUID(), jane: randomUUID(), webhook: randomUUID(), certificates: randomUUID(),
    controller: randomUUID(), capa: randomUUID(), "kube-controller-manager": randomUUID(),
    "kube-scheduler": randomUUID(), "kube-proxy": randomUUID(), kubelet: randomUUID(),
  };
}

/**
 * Returns the content of the file for `--token-auth-file`. Each line contains a token, a user, a UID and quoted groups.
 */
export function tokenFile(tokens: Tokens): string {
  return names()
    .map((name) => `${tokens[name]},${IDENTITIES[name].username},${name},"${IDENTITIES[name].groups.join(",")}"\n`)
    .join("");
}

/** Returns a kubeconfig with a context for each identity. */
export function kubeconfig(url: string, caFile: string, tokens: Tokens, current: Identity = "admin"): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "test", cluster: { server: url, "certificate-authority": caFile } }],
    users: names().map((name) => ({ name, user: { token: tokens[name] } })),
    contexts: names().map((name) => ({ name, context: { cluster: "test", user: name } })),
    "current-context": current,
  });
}

function names(): readonly Identity[] {
  return [
    "admin", "jane", "webhook", "certificates", "controller", "capa", "kube-controller-manager", "kube-scheduler",
    "kube-proxy", "kubelet",
  ];
}

interface User {
  readonly username: string;
  readonly groups: readonly string[];
}

/** Returns the username of a service account (kubernetes.io/docs/reference/access-authn-authz/authentication). */
function serviceAccount(namespace: string, name: string): User {
  return {
    username: `system:serviceaccount:${namespace}:${name}`,
    groups: ["system:serviceaccounts", `system:serviceaccounts:${namespace}`],
  };
}
