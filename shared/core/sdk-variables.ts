/** The variables of containers in which the SDKs of AWS find credentials and endpoints. */
export const FULL_URI = "AWS_CONTAINER_CREDENTIALS_FULL_URI";
export const TOKEN_FILE = "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE";
export const STS_ENDPOINT = "AWS_ENDPOINT_URL_STS";
export const METADATA_DISABLED = "AWS_EC2_METADATA_DISABLED";
export const REGION = "AWS_REGION";
export const ROLE_ARN_VARIABLE = "AWS_ROLE_ARN";
export const WEB_IDENTITY_TOKEN_FILE = "AWS_WEB_IDENTITY_TOKEN_FILE";
