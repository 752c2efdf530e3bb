// A program that uses the default credential chain of the AWS SDK for Go, as ACK controllers and programs of users do.
// Prints JSON, or the error of the SDK on standard error with exit code 1.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

const region = "eu-west-1"

func main() {
	answer, err := run(context.Background(), os.Args[1:])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(answer)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) (any, error) {
	if err := setClock(os.Getenv("CLIENT_CLOCK")); err != nil {
		return nil, err
	}
	cfg, err := config.LoadDefaultConfig(ctx, config.WithRegion(region))
	if err != nil {
		return nil, err
	}
	for _, mode := range modes {
		if len(args) > 0 && args[0] == mode.name && len(args)-1 >= mode.arguments {
			return mode.run(ctx, cfg, args[1:])
		}
	}
	return nil, fmt.Errorf("usage: whoami STS_ENDPOINT | retrieve N | assume ROLE_ARN SESSION_NAME | " +
		"controller KINDS REGIONS ROLE_ARN... | stream CALLS AT_ONCE ROLE_ARN... | use CALLS PER_SECOND STS_ENDPOINT ROLE_ARN...")
}

var modes = []struct {
	name      string
	arguments int
	run       func(context.Context, aws.Config, []string) (any, error)
}{
	{"whoami", 1, whoami}, {"retrieve", 1, retrieve}, {"assume", 2, assume}, {"controller", 3, controller}, {"stream", 3, stream}, {"use", 4, use},
}

func whoami(ctx context.Context, cfg aws.Config, args []string) (any, error) {
	client := sts.NewFromConfig(cfg, func(o *sts.Options) { o.BaseEndpoint = &args[0] })
	identity, err := client.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return nil, err
	}
	credentials, err := cfg.Credentials.Retrieve(ctx)
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"account": *identity.Account, "arn": *identity.Arn, "accessKeyID": credentials.AccessKeyID, "expires": credentials.CanExpire,
	}, nil
}

func retrieve(ctx context.Context, cfg aws.Config, args []string) (any, error) {
	count, err := strconv.Atoi(args[0])
	if err != nil {
		return nil, err
	}
	all := []any{}
	for range count {
		credentials, err := cfg.Credentials.Retrieve(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, map[string]any{
			"accessKeyID": credentials.AccessKeyID, "accountID": orNull(credentials.AccountID), "expiration": expirationOf(credentials),
		})
	}
	return all, nil
}

func assume(ctx context.Context, cfg aws.Config, args []string) (any, error) {
	client := sts.NewFromConfig(cfg)
	identity, err := client.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return nil, err
	}
	input := &sts.AssumeRoleInput{RoleArn: &args[0], RoleSessionName: &args[1], DurationSeconds: aws.Int32(900)}
	session, err := client.AssumeRole(ctx, input)
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"identity": map[string]any{"account": *identity.Account, "arn": *identity.Arn},
		"assumed": map[string]any{
			"arn": *session.AssumedRoleUser.Arn, "accessKeyID": *session.Credentials.AccessKeyId, "expiration": timestamp(*session.Credentials.Expiration),
		},
	}, nil
}

func expirationOf(credentials aws.Credentials) any {
	if !credentials.CanExpire {
		return nil
	}
	return timestamp(credentials.Expires)
}

func timestamp(at time.Time) string { return at.UTC().Format(time.RFC3339) }

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}
