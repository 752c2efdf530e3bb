import type { JsonObject } from "../../../../shared/formats/json.ts";
import { bucketObject, namespaceObject, selectorObject } from "../../objects.ts";

/** A generated company, with problems in known places. */
export interface Company {
  readonly objects: readonly JsonObject[];
  /** What is wrong, by state: the namespaces, or the names of the selectors. */
  readonly planted: Readonly<Record<"conflict" | "refused" | "malformed" | "stale" | "default", readonly string[]>>;
}

export interface CompanySize {
  readonly namespaces: number;
  readonly accounts: number;
  /** The number of resources of a namespace. */
  readonly resources: number;
  /** The number of problems of each kind. */
  readonly problems: number;
}

/** 500 namespaces, 20 accounts and 10,000 resources. */
export const LARGE: CompanySize = { namespaces: 500, accounts: 20, resources: 20, problems: 5 };

const KINDS = [
  ["s3.services.k8s.aws", "Bucket"], ["sqs.services.k8s.aws", "Queue"], ["dynamodb.services.k8s.aws", "Table"],
  ["sns.services.k8s.aws", "Topic"], ["kms.services.k8s.aws", "Key"],
] as const;
/** The kinds of problems that objects can have. Another one is that of a file that is not judged. */
const PROBLEM_KINDS = 5;
const ENVIRONMENTS = ["prod", "staging", "dev"] as const;

/**
 * Returns the objects of a company. Each namespace has a selector of its own. The problems are in different namespaces
 * and accounts. Decisions need `--runtime extended`, without which no resource is refused.
 */
export function company({ namespaces, accounts, resources, problems }: CompanySize): Company {
  const names = Array.from({ length: namespaces }, (_, i) => namespaceName(i));
  // Not a multiple of the number of accounts, so that the accounts differ too.
  const step = Math.floor(namespaces / (PROBLEM_KINDS * problems)) - 1;
  const part = (kind: number): readonly string[] => (
    Array.from({ length: problems }, (_, i) => namespaceName((i * PROBLEM_KINDS + kind) * step))
  );
  const [conflict, refused, stale, byDefault, broken] = [part(0), part(1), part(2), part(3), part(4)];
  const objects = names.flatMap((name, i) => [
    namespaceObject(name, { team: teamOf(i), env: environmentOf(i) }),
    ...(byDefault.includes(name) ? [] : [selectorOf(name, accountOf(i, accounts))]),
    ...Array.from({ length: resources }, (__, j) => resourceOf(name, j, { refused, stale })),
  ]);
  return {
    objects: [
      ...objects, ...conflict.map((name, i) => secondSelector(name, accountOf(i + 1, accounts))),
      ...broken.map((name) => selectorObject(`broken-${name}`, {
        arn: "arn:aws:iam:111122223333:role/x", namespaceSelector: { names: [name] },
      })),
    ],
    planted: { conflict, refused, stale, default: byDefault, malformed: broken.map((name) => `broken-${name}`) },
  };
}

function teamOf(i: number): string {
  return `team-${String(Math.floor(i / ENVIRONMENTS.length)).padStart(3, "0")}`;
}

function environmentOf(i: number): string {
  return ENVIRONMENTS[i % ENVIRONMENTS.length] ?? "";
}

export function namespaceName(i: number): string {
  return `${teamOf(i)}-${environmentOf(i)}`;
}

export function accountOf(i: number, accounts: number): string {
  return String(100_000_000_000 + 7_919 * (i % accounts));
}

function selectorOf(name: string, account: string): JsonObject {
  return selectorObject(name, {
    arn: `arn:aws:iam::${account}:role/ack/${name}`, namespaceSelector: { names: [name] },
  });
}

/** Also selects the buckets of the namespace. */
function secondSelector(name: string, account: string): JsonObject {
  return selectorObject(`second-${name}`, {
    arn: `arn:aws:iam::${account}:role/ack/media`, namespaceSelector: { names: [name] },
    resourceTypeSelector: [{ group: "s3.services.k8s.aws", version: "v1alpha1", kind: "Bucket" }],
  });
}

type Faulty = Readonly<Record<"refused" | "stale", readonly string[]>>;

function resourceOf(namespace: string, j: number, { refused, stale }: Faulty): JsonObject {
  const [group, kind] = KINDS[j % KINDS.length] ?? KINDS[0];
  const name = `${kind.toLowerCase()}-${String(j).padStart(2, "0")}`;
  const annotations = {
    ...(j === 0 && refused.includes(namespace) && { "ack-role-resolver.io/use-selector": "absent" }),
    ...(j === 0 && stale.includes(namespace) && { "ack-role-resolver.io/role-arn": "arn:aws:iam::1:role/old" }),
  };
  return { ...bucketObject({ name, namespace, annotations }), apiVersion: `${group}/v1alpha1`, kind };
}
