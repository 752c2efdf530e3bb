// Implements CARM and IAMRoleSelectors a second time, in a simple way. Tests compare the result of a migration with
// this model. The model deliberately shares no code and no type with shared/.

export interface ModelWorld {
  readonly accounts: Readonly<Record<string, string>> | null;
  readonly teams: Readonly<Record<string, string>> | null;
  readonly namespaces: readonly ModelNamespace[];
  readonly resources: readonly ModelResource[];
  readonly gates: { readonly team: boolean; readonly service: boolean };
  readonly controllerAccount: string | null;
  readonly runtime: "ack" | "extended";
}

export interface ModelNamespace {
  readonly name: string;
  readonly owner: string;
  readonly team: string;
  /** The value of the annotation owner-team-id, which an ACK proposal uses in place of the annotation team-id. */
  readonly ownerTeam: string;
}

export interface ModelResource {
  readonly namespace: string;
  readonly service: string;
  readonly kind: string;
  readonly name: string;
  readonly account: string | null;
}

/** Returns the result of CARM for a resource: a role ARN, `default` or `refused`. */
export function modelBefore(
  world: ModelWorld,
  { namespace, service, account }: Pick<ModelResource, "namespace" | "service" | "account">,
): string {
  const { owner, team } = annotationsOf(world, namespace);
  if (world.gates.team && team !== "") return roleIn(world.teams, service, team, world);
  if (owner !== "") return roleIn(world.accounts, service, owner, world);
  return account !== null && account !== world.controllerAccount
    ? roleIn(world.accounts, service, account, world)
    : "default";
}

function annotationsOf(
  { namespaces, runtime }: ModelWorld,
  namespace: string,
): { readonly owner: string; readonly team: string } {
  const found = namespaces.find(({ name }) => name === namespace);
  if (found === undefined || ["kube-system", "kube-public", "kube-node-lease"].includes(namespace))
    return { owner: "", team: "" };
  return { owner: found.owner, team: found.team === "" && runtime === "extended" ? found.ownerTeam : found.team };
}

function roleIn(map: ModelWorld["accounts"], service: string, key: string, { gates }: ModelWorld): string {
  const entries = new Map(Object.entries(map ?? {}));
  const ofService = gates.service ? entries.get(`${service}.${key}`) ?? "" : "";
  const value = ofService === "" ? entries.get(key) ?? "" : ofService;
  return modelIsRole(value) ? value : "refused";
}

/** Returns whether a value is a role ARN. Supports only the values that these tests use. */
export function modelIsRole(value: string): boolean {
  const [arn, partition, service, region, account = "", role = "", more] = value.split(":");
  return (
    arn === "arn" &&
    partition === "aws" &&
    service === "iam" &&
    region === "" &&
    account.length === 12 &&
    role.startsWith("role/") &&
    !role.includes(" ") &&
    more === undefined
  );
}

/** A selector manifest. */
interface ModelSelector {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly arn: string;
    readonly namespaceSelector?: { readonly names: readonly string[] };
    readonly resourceTypeSelector?: readonly {
      readonly group: string;
      readonly version: string;
      readonly kind: string;
    }[];
  };
}

/** Returns the manifests as plain data. */
export function asModel(selectors: readonly object[]): readonly ModelSelector[] {
  return JSON.parse(JSON.stringify(selectors));
}

/** Returns the result of the selectors for a resource: a role ARN, `default` or `conflict`. */
export function modelAfter(
  selectors: readonly ModelSelector[],
  { namespace, service, kind }: Pick<ModelResource, "namespace" | "service" | "kind">,
): string {
  const group = `${service}.services.k8s.aws`;
  const selecting = selectors.filter(({ spec: { namespaceSelector, resourceTypeSelector = [] } }) => {
    const names = namespaceSelector?.names ?? [];
    const inNamespace = names.length === 0 || names.includes(namespace);
    const ofType =
      resourceTypeSelector.length === 0 ||
      resourceTypeSelector.some(
        (one) =>
          (one.group === "" || one.group === group) && (one.kind === "" || one.kind === kind) && one.version === "",
      );
    return inNamespace && ofType;
  });
  return selecting.length > 1 ? "conflict" : (selecting[0]?.spec.arn ?? "default");
}
