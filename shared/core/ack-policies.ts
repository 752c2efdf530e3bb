/** What the maintainers of a controller recommend for its role. */
export interface RecommendedPolicy {
  /** The name, with its path, of a policy that AWS manages; null if the controller recommends none. */
  readonly managed: string | null;
  /** Whether the repository contains an inline policy, too. */
  readonly inline: boolean;
}

/**
 * The recommendations, by the service of the API group: the files `recommended-policy-arn` and
 * `recommended-inline-policy` in `config/iam/` of the repositories `github.com/aws-controllers-k8s/SERVICE-controller`,
 * read in 2026-11. Services that are not listed here have none that is known.
 */
const MANAGED: ReadonlyMap<string, string> = new Map(Object.entries({
  acmpca: "AWSPrivateCAFullAccess",
  applicationautoscaling: "PowerUserAccess",
  bedrockagent: "AmazonBedrockFullAccess",
  bedrockagentcorecontrol: "BedrockAgentCoreFullAccess",
  cloudfront: "CloudFrontFullAccess",
  cloudtrail: "AWSCloudTrail_FullAccess",
  codeartifact: "AWSCodeArtifactAdminAccess",
  documentdb: "AmazonDocDBFullAccess",
  dsql: "AmazonAuroraDSQLFullAccess",
  dynamodb: "AmazonDynamoDBFullAccess",
  ec2: "AmazonEC2FullAccess",
  ecs: "AmazonECS_FullAccess",
  efs: "AmazonElasticFileSystemFullAccess",
  elbv2: "ElasticLoadBalancingFullAccess",
  emr: "AmazonEMRFullAccessPolicy_v2",
  emrcontainers: "aws-service-role/AmazonEMRContainersServiceRolePolicy",
  eventbridge: "AmazonEventBridgeFullAccess",
  firehose: "AmazonKinesisFirehoseFullAccess",
  fsx: "AmazonFSxFullAccess",
  kafka: "AmazonMSKFullAccess",
  kms: "AWSKeyManagementServicePowerUser",
  lambda: "AWSLambda_FullAccess",
  memorydb: "AmazonMemoryDBFullAccess",
  networkmanager: "AWSNetworkManagerFullAccess",
  opensearchserverless: "AWSGlueConsoleFullAccess",
  opensearchservice: "AmazonOpenSearchServiceFullAccess",
  organizations: "AWSOrganizationsFullAccess",
  prometheusservice: "AmazonPrometheusConsoleFullAccess",
  ram: "AWSResourceAccessManagerFullAccess",
  rds: "AmazonRDSFullAccess",
  route53: "AmazonRoute53FullAccess",
  route53resolver: "AmazonRoute53ResolverFullAccess",
  s3: "AmazonS3FullAccess",
  secretsmanager: "SecretsManagerReadWrite",
  sqs: "AmazonSQSFullAccess",
  ssm: "AmazonSSMFullAccess",
  transfer: "AWSTransferFullAccess",
  wafv2: "AWSWAFFullAccess",
}));
const INLINE: ReadonlySet<string> = new Set([
  "acm", "bedrockagentcorecontrol", "cloudfront", "cloudwatchlogs", "dms", "eks", "emrcontainers", "iam", "kinesis",
  "kms", "lambda", "lambdamicrovms", "mq", "mwaaserverless", "prometheusservice", "rds", "s3", "s3vectors", "ssm",
]);

/** Returns the recommendation for a service, or null. */
export function recommendedPolicy(service: string): RecommendedPolicy | null {
  const managed = MANAGED.get(service) ?? null;
  const inline = INLINE.has(service);
  return managed === null && !inline ? null : { managed, inline };
}

/** Returns the address of the inline policy that a controller recommends. */
export function inlinePolicyURL(service: string): string {
  return `https://github.com/aws-controllers-k8s/${service}-controller/blob/main/config/iam/recommended-inline-policy`;
}

/**
 * Actions that a kind calls and that the recommended policies lack, by `SERVICE/KIND`, from the calls in the source of
 * the controllers. There may be more.
 */
export const KNOWN_MISSING: Readonly<Record<string, readonly string[]>> = {
  "iam/InstanceProfile": ["iam:AddRoleToInstanceProfile", "iam:CreateInstanceProfile", "iam:GetInstanceProfile"],
  "iam/Role": ["iam:DeleteRolePermissionsBoundary"],
  "iam/ServiceLinkedRole": ["iam:CreateServiceLinkedRole"],
  "iam/User": ["iam:DeleteUserPermissionsBoundary"],
};
