import { field, isJsonObject } from "../../../shared/formats/json.ts";
import type { Pod, PodCluster } from "../cluster.ts";
import { DEPLOYMENT, NAMESPACE } from "../webhook/installed.ts";

/** The fields of a NetworkPolicy that the rules depend on. A rule with other fields is not supported. */
interface NetworkPolicy {
  readonly spec: {
    readonly podSelector: { readonly matchLabels: Readonly<Record<string, string>> };
    readonly policyTypes: readonly string[];
    readonly ingress: readonly PortsRule[];
    readonly egress: readonly PortsRule[];
  };
}

interface PortsRule {
  readonly ports: readonly Port[];
}

interface Port {
  readonly protocol: string;
  /** A number, or the name of a port of the container. */
  readonly port: string | number;
}

/** The iptables chains of the rules, and the option that matches the address of the selected Pod. */
const CHAINS = { ingress: ["POLICY-INGRESS", "-d"], egress: ["POLICY-EGRESS", "-s"] } as const;
const HOOKS = ["FORWARD", "INPUT", "OUTPUT"] as const;

/**
 * Enforces the NetworkPolicy of the webhook with iptables rules, for all new connections of the Pods that the
 * policy selects at this time. Returns the names of these Pods, sorted.
 */
export async function enforcePolicy(cluster: PodCluster): Promise<string[]> {
  const { podSelector: { matchLabels }, ...rules } = await readPolicy(cluster);
  const pods = await cluster.pods(NAMESPACE, Object.entries(matchLabels).map((label) => label.join("=")).join(","));
  // Without this parameter, connections of Pods on the same bridge skip iptables.
  await cluster.runOnNode("sh", ["-c", "echo 1 > /proc/sys/net/bridge/bridge-nf-call-iptables"]);
  for (const direction of ["ingress", "egress"] as const) {
    const [chain] = CHAINS[direction];
    await iptables(cluster, "-N", chain);
    await iptables(cluster, "-A", chain, "-m", "conntrack", "--ctstate", "ESTABLISHED,RELATED", "-j", "RETURN");
    const ports = rules[direction].flatMap((rule) => rule.ports);
    for (const pod of pods) await allowPorts(cluster, CHAINS[direction], pod, ports);
    for (const hook of HOOKS) await iptables(cluster, "-I", hook, "-j", chain);
  }
  return pods.map(({ name }) => name).toSorted();
}

export async function removeRules(cluster: PodCluster): Promise<void> {
  for (const [chain] of Object.values(CHAINS)) await iptables(cluster, "-F", chain);
}

async function readPolicy(cluster: PodCluster): Promise<NetworkPolicy["spec"]> {
  const stored = await cluster.kubectl(["get", "networkpolicy", DEPLOYMENT, "-n", NAMESPACE, "-o", "json"]);
  const policy = parsePolicy(stored);
  const { podSelector, policyTypes, ingress, egress } = policy.spec;
  const isSupported = Object.keys(podSelector).join() === "matchLabels"
    && policyTypes.toSorted().join() === "Egress,Ingress"
    && [...ingress, ...egress].every((rule) => Object.keys(rule).join() === "ports");
  if (!isSupported) throw new Error(`the rules of this NetworkPolicy are not supported: ${stored}`);
  return policy.spec;
}

function parsePolicy(text: string): NetworkPolicy {
  return JSON.parse(text);
}

async function allowPorts(
  cluster: PodCluster, [chain, option]: readonly [string, string], pod: Pod, ports: readonly Port[],
): Promise<void> {
  const rule = async (...args: readonly string[]): Promise<void> => (
    iptables(cluster, "-A", chain, option, pod.address, ...args)
  );
  for (const port of ports) {
    const number = await portNumber(cluster, pod, port);
    await rule("-p", port.protocol.toLowerCase(), "--dport", number, "-j", "RETURN");
  }
  await rule("-j", "REJECT", "--reject-with", "icmp-admin-prohibited");
}

async function portNumber(cluster: PodCluster, { name }: Pod, { port }: Port): Promise<string> {
  if (typeof port === "number") return String(port);
  const { body } = await cluster.api.request("GET", `/api/v1/namespaces/${NAMESPACE}/pods/${name}`);
  const containers = field(field(body, "spec"), "containers");
  const ports: unknown = Array.isArray(containers) ? field(containers[0], "ports") : [];
  const found: unknown = Array.isArray(ports) ? ports.find((one) => field(one, "name") === port) : undefined;
  if (!isJsonObject(found)) throw new Error(`the Pod ${name} has no port ${port}`);
  return String(found["containerPort"]);
}

async function iptables(cluster: PodCluster, ...args: readonly string[]): Promise<void> {
  await cluster.runOnNode("iptables", ["-w", ...args]);
}
