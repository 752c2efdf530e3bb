import { ACCOUNT_MAP, TEAM_MAP } from "./annotation-keys.ts";
import { field, type JsonObject, stringAt } from "../formats/json.ts";
import { objectReference } from "../formats/object-meta.ts";
import { closest, isMisspelled, NameIndex } from "../formats/nearest.ts";

export const SELECTOR_GROUP = "services.k8s.aws";
export const SELECTOR_KIND = "IAMRoleSelector";

export function isSelector(object: JsonObject): boolean {
  const apiVersion = stringAt(object, "apiVersion") ?? "";
  return stringAt(object, "kind") === SELECTOR_KIND && apiVersion.startsWith(`${SELECTOR_GROUP}/`);
}

/** Whether the kind is a misspelling of IAMRoleSelector such as IamRoleSelectors, or that kind in another group. */
export function isLikeSelector({ kind }: { readonly kind: string }): boolean {
  return isMisspelled(kind, SELECTOR_KIND);
}

export const FIELD_EXPORT_KIND = "FieldExport";
export const ADOPTED_RESOURCE_KIND = "AdoptedResource";

/** Whether the kind is FieldExport, with which a user makes an ACK controller write a ConfigMap or a Secret. */
export function isFieldExportKind({ group, kind }: { readonly group: string; readonly kind: string }): boolean {
  return group === SELECTOR_GROUP && kind === FIELD_EXPORT_KIND;
}

/**
 * Whether the API group belongs to an ACK service. The group `services.k8s.aws` itself does not belong to a service.
 */
export function isACKGroup(group: string): boolean {
  return group.endsWith(".services.k8s.aws");
}

/** The kinds of ACK that are not AWS resources. Their group is `services.k8s.aws`. */
export const CORE_KINDS: readonly string[] = [SELECTOR_KIND, FIELD_EXPORT_KIND, ADOPTED_RESOURCE_KIND];

/** Whether the group is misspelled, as in `s3.service.k8s.aws` and `s3.services.k8s.io`, or lacks the service. */
export function isLikeResource({ group, kind }: { readonly group: string; readonly kind: string }): boolean {
  if (group === SELECTOR_GROUP) return !CORE_KINDS.includes(kind);
  const dot = group.indexOf(".");
  if (dot <= 0 || isACKGroup(group)) return false;
  const suffix = group.slice(dot + 1);
  return suffix.startsWith("services.k8s.") || isMisspelled(suffix, SELECTOR_GROUP);
}

export function isKindDefinition(object: JsonObject): boolean {
  const { group, kind } = objectReference(object);
  return group === "apiextensions.k8s.io" && kind === "CustomResourceDefinition";
}

/** Returns the group and kind that a CustomResourceDefinition defines. */
export function definedKind(object: JsonObject): { readonly group: string; readonly kind: string } {
  const spec = field(object, "spec");
  return { group: stringAt(spec, "group") ?? "", kind: stringAt(spec, "names", "kind") ?? "" };
}

export function isNamespace(object: JsonObject): boolean {
  const { group, kind } = objectReference(object);
  return group === "" && kind === "Namespace";
}

export function isCARMMapName(name: string): boolean {
  return name === ACCOUNT_MAP || name === TEAM_MAP;
}

/** A kind that a user specifies. Omitted parts are null. */
export interface KindArgument {
  readonly kind: string;
  readonly version: string | null;
  readonly group: string | null;
}

const KIND = /^[A-Z][A-Za-z0-9]{0,62}$/;
// API versions: https://kubernetes.io/docs/reference/using-api/#api-versioning
const VERSION = /^v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?$/;
const GROUP = /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/;

/**
 * Parses `KIND`, `KIND.GROUP` or `KIND.VERSION.GROUP`, such as `Bucket.v1alpha1.s3.services.k8s.aws`. Returns null for
 * other texts.
 */
export function parseKindArgument(text: string): KindArgument | null {
  const [kind = "", ...rest] = text.split(".");
  if (!KIND.test(kind)) return null;
  if (rest.length === 0) return { kind, version: null, group: null };
  const [first = ""] = rest;
  const version = VERSION.test(first) && rest.length > 1 ? first : null;
  const group = rest.slice(version === null ? 0 : 1).join(".");
  return GROUP.test(group) ? { kind, version, group } : null;
}

/**
 * The API groups of all ACK service controllers, sorted. Webhook rules list the groups one by one, because `apiGroups`
 * in a webhook configuration matches whole names or `*`, not suffixes. The group `services.k8s.aws` is not listed,
 * because its kinds (IAMRoleSelector, AdoptedResource) are not AWS resources.
 *
 * The list is the union of three public lists of the organization github.com/aws-controllers-k8s:
 * - the `<service>-controller` repositories. The name of a repository has the same prefix as its group: code-generator
 *   at d4aaca5 builds both from the controller name (`pkg/model/model.go` `APIGroup`,
 *   `templates/helm/Chart.yaml.tpl` `sources`);
 * - `aws_services` in test-infra `prow/jobs/jobs_config.yaml` at 17b0b9a;
 * - the dependencies in ack-chart `Chart.yaml` at af3c138 (version 46.158.1).
 *
 * Some of these controllers are not released yet or no longer built. A group that a cluster does not serve has no
 * effect.
 */
export const ACK_GROUPS: readonly string[] = [
  "acm.services.k8s.aws",
  "acmpca.services.k8s.aws",
  "apigateway.services.k8s.aws",
  "apigatewayv2.services.k8s.aws",
  "appconfig.services.k8s.aws",
  "applicationautoscaling.services.k8s.aws",
  "athena.services.k8s.aws",
  "autoscaling.services.k8s.aws",
  "backup.services.k8s.aws",
  "batch.services.k8s.aws",
  "bedrock.services.k8s.aws",
  "bedrockagent.services.k8s.aws",
  "bedrockagentcorecontrol.services.k8s.aws",
  "cloudfront.services.k8s.aws",
  "cloudtrail.services.k8s.aws",
  "cloudwatch.services.k8s.aws",
  "cloudwatchevents.services.k8s.aws",
  "cloudwatchlogs.services.k8s.aws",
  "codeartifact.services.k8s.aws",
  "cognitoidentityprovider.services.k8s.aws",
  "dms.services.k8s.aws",
  "documentdb.services.k8s.aws",
  "dsql.services.k8s.aws",
  "dynamodb.services.k8s.aws",
  "ec2.services.k8s.aws",
  "ecr.services.k8s.aws",
  "ecrpublic.services.k8s.aws",
  "ecs.services.k8s.aws",
  "efs.services.k8s.aws",
  "eks.services.k8s.aws",
  "elasticache.services.k8s.aws",
  "elasticsearchservice.services.k8s.aws",
  "elbv2.services.k8s.aws",
  "emr.services.k8s.aws",
  "emrcontainers.services.k8s.aws",
  "emrserverless.services.k8s.aws",
  "eventbridge.services.k8s.aws",
  "firehose.services.k8s.aws",
  "fsx.services.k8s.aws",
  "globalaccelerator.services.k8s.aws",
  "glue.services.k8s.aws",
  "iam.services.k8s.aws",
  "kafka.services.k8s.aws",
  "keyspaces.services.k8s.aws",
  "kinesis.services.k8s.aws",
  "kms.services.k8s.aws",
  "lakeformation.services.k8s.aws",
  "lambda.services.k8s.aws",
  "lambdacore.services.k8s.aws",
  "lambdamicrovms.services.k8s.aws",
  "memorydb.services.k8s.aws",
  "mq.services.k8s.aws",
  "mwaa.services.k8s.aws",
  "mwaaserverless.services.k8s.aws",
  "networkfirewall.services.k8s.aws",
  "networkmanager.services.k8s.aws",
  "opensearchserverless.services.k8s.aws",
  "opensearchservice.services.k8s.aws",
  "organizations.services.k8s.aws",
  "pipes.services.k8s.aws",
  "prometheusservice.services.k8s.aws",
  "quicksight.services.k8s.aws",
  "ram.services.k8s.aws",
  "rds.services.k8s.aws",
  "recyclebin.services.k8s.aws",
  "route53.services.k8s.aws",
  "route53resolver.services.k8s.aws",
  "s3.services.k8s.aws",
  "s3control.services.k8s.aws",
  "s3files.services.k8s.aws",
  "s3tables.services.k8s.aws",
  "s3vectors.services.k8s.aws",
  "sagemaker.services.k8s.aws",
  "secretsmanager.services.k8s.aws",
  "servicecatalog.services.k8s.aws",
  "ses.services.k8s.aws",
  "sfn.services.k8s.aws",
  "sns.services.k8s.aws",
  "sqs.services.k8s.aws",
  "ssm.services.k8s.aws",
  "transfer.services.k8s.aws",
  "wafv2.services.k8s.aws",
];

/**
 * Returns the ACK groups of this release and the extra groups of the user, sorted. Webhook rules and RBAC rules cover
 * these groups.
 */
export function knownGroups(extraGroups: readonly string[]): string[] {
  return [...new Set([...ACK_GROUPS, ...extraGroups])].toSorted();
}

/**
 * Returns the group whose service the text probably means, for a message, or null. Compares only the services, because
 * the common suffix would make all names similar.
 */
export function closestGroup(group: string, groups: readonly string[]): string | null {
  const service = closest(serviceOf(group), groups.map(serviceOf));
  return groups.find((one) => serviceOf(one) === service) ?? null;
}

/** Returns the service of an ACK group: `s3` for `s3.services.k8s.aws`. */
export function serviceOf(group: string): string {
  return group.replace(/\..*$/s, "");
}

const SERVICES = new NameIndex(ACK_GROUPS.map(serviceOf));

/** Returns the ACK groups that a user probably means with the text, such as `dynamo.services.k8s.aws`. */
export function nearestGroups(text: string, services = SERVICES): readonly string[] {
  return services.nearest(serviceOf(text)).map((service) => `${service}.${SELECTOR_GROUP}`);
}

/** Returns the ACK groups among `groups` that no webhook rule and no RBAC rule covers, sorted. */
export function unknownGroups(groups: Iterable<string>, extraGroups: readonly string[]): string[] {
  const known = new Set(knownGroups(extraGroups));
  return [...groups].filter((group) => isACKGroup(group) && !known.has(group)).toSorted();
}

/**
 * An image of an ACK controller, in the registry of ACK or in a copy of it. The name `SERVICE-controller` alone is not
 * sufficient, because a controller of another project can have such a name, for example `backup-controller`.
 */
const ACK_IMAGE = /(?:^|\/)aws-controllers-k8s\/([a-z0-9]{1,63})-controller(?:[:@]|$)/;

/** Returns the service of the ACK controller in an image, such as `s3`; null for an image of another program. */
export function serviceOfImage(image: string): string | null {
  return ACK_IMAGE.exec(image)?.[1] ?? null;
}
