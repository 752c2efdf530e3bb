import { isACKGroup } from "./kinds.ts";

/**
 * Every API group that an ACK service controller serves, sorted: what the webhook's rules name, since `apiGroups` in a webhook
 * configuration takes whole names or `*` and no suffix.
 *
 * The union of three public lists of the organisation github.com/aws-controllers-k8s, so that a controller that is built but not
 * released, or released but no longer built, is still judged. A group that no cluster serves costs nothing.
 * - its `<service>-controller` repositories;
 * - `aws_services` in test-infra `prow/jobs/jobs_config.yaml` at 17b0b9a;
 * - the dependencies in ack-chart `Chart.yaml` at af3c138 (version 46.158.1).
 * A repository's prefix is its group's: code-generator at d4aaca5 builds both from one controller name
 * (`pkg/model/model.go` `APIGroup`, `templates/helm/Chart.yaml.tpl` `sources`).
 * `services.k8s.aws` itself holds the runtime's own kinds (IAMRoleSelector, AdoptedResource), no AWS resource.
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

/** The groups that this release and the user name, sorted: what webhook rules and rights are made for. */
export function knownGroups(extraGroups: readonly string[]): string[] {
  return [...new Set([...ACK_GROUPS, ...extraGroups])].toSorted();
}

/** The ACK groups among `groups` that are not known: no webhook rule and no right covers them. */
export function unknownGroups(groups: Iterable<string>, extraGroups: readonly string[]): string[] {
  const known = new Set(knownGroups(extraGroups));
  return [...groups].filter((group) => isACKGroup(group) && !known.has(group)).toSorted();
}
