import java.net.URI;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import software.amazon.awssdk.auth.credentials.AwsCredentials;
import software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider;
import software.amazon.awssdk.http.urlconnection.UrlConnectionHttpClient;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.sts.StsClient;
import software.amazon.awssdk.services.sts.StsClientBuilder;
import software.amazon.awssdk.services.sts.model.AssumeRoleResponse;
import software.amazon.awssdk.services.sts.model.GetCallerIdentityResponse;

/**
 * A program that uses the default credential chain of the AWS SDK for Java, as programs of users do. The arguments are
 * {@code whoami STS_ENDPOINT}, {@code retrieve N} or {@code assume ROLE_ARN SESSION_NAME}. Prints JSON on standard
 * output. After an error of the SDK, the virtual machine prints the error on standard error and exits with code 1.
 */
public final class JavaClient {
    static {
        // The default chain only logs why a provider had no credentials. slf4j-simple prints this log on standard
        // error.
        System.setProperty("org.slf4j.simpleLogger.log.software.amazon.awssdk.auth.credentials.AwsCredentialsProviderChain", "debug");
    }

    private static final DefaultCredentialsProvider CREDENTIALS = DefaultCredentialsProvider.builder().build();

    public static void main(String[] args) {
        Object answer = switch (args[0]) {
            case "whoami" -> whoami(URI.create(args[1]));
            case "retrieve" -> retrieve(Integer.parseInt(args[1]));
            case "assume" -> assume(args[1], args[2]);
            default -> throw new IllegalArgumentException("usage: whoami STS_ENDPOINT | retrieve N | assume ROLE_ARN SESSION_NAME");
        };
        System.out.print(json(answer));
    }

    private static Object whoami(URI stsEndpoint) {
        try (StsClient sts = sts().endpointOverride(stsEndpoint).build()) {
            GetCallerIdentityResponse identity = sts.getCallerIdentity();
            AwsCredentials credentials = CREDENTIALS.resolveCredentials();
            return object("account", identity.account(), "arn", identity.arn(),
                "accessKeyID", credentials.accessKeyId(), "expires", credentials.expirationTime().isPresent());
        }
    }

    private static Object retrieve(int times) {
        List<Object> retrieved = new ArrayList<>();
        for (int n = 0; n < times; n++) {
            AwsCredentials credentials = CREDENTIALS.resolveCredentials();
            retrieved.add(object("accessKeyID", credentials.accessKeyId(),
                "accountID", credentials.accountId().orElse(null), "expiration", credentials.expirationTime().map(JavaClient::written).orElse(null)));
        }
        return retrieved;
    }

    private static Object assume(String roleARN, String sessionName) {
        try (StsClient sts = sts().build()) {
            GetCallerIdentityResponse identity = sts.getCallerIdentity();
            AssumeRoleResponse session = sts.assumeRole(r -> r.roleArn(roleARN).roleSessionName(sessionName).durationSeconds(900));
            return object("identity", object("account", identity.account(), "arn", identity.arn()),
                "assumed", object("arn", session.assumedRoleUser().arn(),
                    "accessKeyID", session.credentials().accessKeyId(), "expiration", written(session.credentials().expiration())));
        }
    }

    private static StsClientBuilder sts() {
        return StsClient.builder().region(Region.EU_WEST_1).credentialsProvider(CREDENTIALS).httpClient(UrlConnectionHttpClient.create());
    }

    private static String written(Instant at) {
        return at.truncatedTo(ChronoUnit.SECONDS).toString();
    }

    private static Map<String, Object> object(Object... keysAndValues) {
        Map<String, Object> object = new TreeMap<>();
        for (int i = 0; i < keysAndValues.length; i += 2) object.put((String) keysAndValues[i], keysAndValues[i + 1]);
        return object;
    }

    /** Formats a value as JSON. No value contains a character that JSON escapes. */
    private static String json(Object value) {
        if (value == null || value instanceof Boolean) return String.valueOf(value);
        if (value instanceof List<?> list) return list.stream().map(JavaClient::json).collect(Collectors.joining(",", "[", "]"));
        if (value instanceof Map<?, ?> map) {
            return map.entrySet().stream().map(e -> json(e.getKey()) + ":" + json(e.getValue())).collect(Collectors.joining(",", "{", "}"));
        }
        return '"' + value.toString() + '"';
    }
}
