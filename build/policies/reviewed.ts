import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { isJsonObject, type JsonObject } from "../../shared/formats/json.ts";
import type { ForeignActions } from "../../shared/core/session-scope.ts";
import { textsOf } from "./statements.ts";

/** What people decided about the scope of a controller. */
export interface Reviewed {
  /** The prefixes of the service's own actions. */
  readonly services: readonly string[];
  /**
   * Those that ACK recommends; or all of the service, because ACK publishes no usable list; or only those of the called
   * operations, because the list of ACK is too long for a session policy.
   */
  readonly own: "recommended" | "all" | "called";
  /** The services that may receive a role: iam:PassRole. */
  readonly passTo: readonly string[];
  /** The services for which a service-linked role may be created. */
  readonly linkedRoles: readonly string[];
  /** Whether the service encrypts with keys of the customer, for which it creates grants. */
  readonly usesKeys: boolean;
  /** The services through which the controller uses keys. It cannot use them itself. */
  readonly keysThrough: readonly string[];
  /** Whether the service delivers logs to CloudWatch Logs, S3 or Firehose. */
  readonly deliversLogs: boolean;
  readonly adds: readonly Added[];
  /** Published actions that the controller does not call, and that its service does not demand. */
  readonly drops: readonly string[];
}

/** `from` is the name of a policy of AWS that allows the actions, or the page that demands them of the caller. */
type Added = Omit<ForeignActions, "only">;

export const REVIEWED: ReadonlyMap<string, Reviewed> = new Map(
  objectEntries(parse(readFileSync(new URL("reviewed.yaml", import.meta.url), "utf8"))),
);

function objectEntries(file: unknown): [string, Reviewed][] {
  if (!isJsonObject(file)) throw new Error("reviewed.yaml is not an object");
  return Object.entries(file).map(([service, row]) => [service, readRow(service, row)]);
}

function readRow(service: string, row: unknown): Reviewed {
  if (!isJsonObject(row)) throw new Error(`reviewed.yaml: ${service} is not an object`);
  const texts = (name: string): readonly string[] => textsOf(row[name]);
  const { own } = row;
  return {
    services: texts("services"), own: own === "all" || own === "called" ? own : "recommended",
    passTo: texts("passTo"), linkedRoles: texts("linkedRoles"), keysThrough: texts("keysThrough"),
    usesKeys: row["usesKeys"] === true, deliversLogs: row["deliversLogs"] === true, drops: texts("drops"),
    adds: [row["adds"] ?? []].flat().filter(isJsonObject).map(readAdded),
  };
}

function readAdded({ from, actions, resources }: JsonObject): Added {
  const limits = resources === undefined ? {} : { resources: textsOf(resources) };
  return { from: String(from), actions: textsOf(actions), ...limits };
}

const DOCS = "https://docs.aws.amazon.com";

/** Returns the actions of other services that people added. */
export function addedActions(reviewed: Reviewed): readonly ForeignActions[] {
  const { passTo, linkedRoles, usesKeys, keysThrough, deliversLogs, adds } = reviewed;
  const linked = deliversLogs ? [...new Set([...linkedRoles, "delivery.logs.amazonaws.com"])] : linkedRoles;
  return [
    ...roles("iam:PassRole", "iam:PassedToService", passTo, "id_roles_use_passrole"),
    ...roles("iam:CreateServiceLinkedRole", "iam:AWSServiceName", linked, "using-service-linked-roles"),
    ...(usesKeys ? KEYS : []), ...(keysThrough.length === 0 ? [] : [throughServices(keysThrough)]),
    ...(deliversLogs ? [LOGS] : []), ...adds,
  ];
}

function roles(
  action: string, key: string, values: readonly string[], page: string,
): readonly ForeignActions[] {
  const from = `${DOCS}/IAM/latest/UserGuide/${page}.html`;
  return values.length === 0 ? [] : [{ actions: [action], only: { key, values: values.toSorted() }, from }];
}

const GRANTS = `${DOCS}/kms/latest/developerguide/grant-authorization.html`;
/** A service creates grants for itself, so the caller needs no others. */
const KEYS: readonly ForeignActions[] = [
  { actions: ["kms:CreateGrant"], only: { key: "kms:GrantIsForAWSResource", values: ["true"] }, from: GRANTS },
  { actions: ["kms:DescribeKey"], from: GRANTS },
];

const LOGS: ForeignActions = {
  actions: [
    "logs:*LogDeliver*", "logs:DescribeLogGroups", "logs:DescribeResourcePolicies", "logs:PutResourcePolicy",
    "firehose:TagDeliveryStream",
  ],
  from: `${DOCS}/AmazonCloudWatch/latest/logs/AWS-logs-and-resource-policy.html`,
};

function throughServices(services: readonly string[]): ForeignActions {
  return {
    actions: ["kms:Decrypt", "kms:Encrypt", "kms:GenerateDataKey*", "kms:ReEncrypt*"],
    only: { key: "kms:ViaService", values: services.map((service) => `${service}.*.amazonaws.com*`) },
    from: `${DOCS}/kms/latest/developerguide/conditions-kms.html#conditions-kms-via-service`,
  };
}
