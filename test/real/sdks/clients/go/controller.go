package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

// httpTimeout is the value of --http-client-timeout in the charts of ACK controllers.
const httpTimeout = 60 * time.Second

// userAgent hides the type of the wrapped client from the SDK, so that the SDK cannot share or tune the client. ACK
// controllers use such a wrapper too.
type userAgent struct{ client aws.HTTPClient }

func (u userAgent) Do(request *http.Request) (*http.Response, error) {
	request.Header.Set("User-Agent", "aws-controllers-k8s "+request.Header.Get("User-Agent"))
	return u.client.Do(request)
}

// newAWSConfig creates a config as NewAWSConfig of ACK's runtime does for every kind, account, region and role
// (aws-controllers-k8s/runtime v0.62.0, pkg/runtime/config.go). Configs do not share base credentials, connections or
// the provider of the role. The provider has no options, so each provider generates a session name, and its cache has
// no expiry window.
func newAWSConfig(ctx context.Context, region, roleARN string) (aws.Config, error) {
	client := userAgent{awshttp.NewBuildableClient().WithTimeout(httpTimeout)}
	cfg, err := config.LoadDefaultConfig(ctx, config.WithRegion(region), config.WithHTTPClient(client))
	if err != nil {
		return cfg, err
	}
	if endpoint := os.Getenv("CLIENT_BASE_ENDPOINT"); endpoint != "" {
		cfg.BaseEndpoint = &endpoint
	}
	if roleARN != "" {
		cfg.Credentials = aws.NewCredentialsCache(stscreds.NewAssumeRoleProvider(sts.NewFromConfig(cfg), roleARN))
	}
	return cfg, nil
}

// controller requests its identity, fails if it receives none, and then reconciles a resource of each kind, region and
// role.
func controller(ctx context.Context, _ aws.Config, args []string) (any, error) {
	counts, err := numbers(args[:2])
	if err != nil {
		return nil, err
	}
	own, err := newAWSConfig(ctx, region, "")
	if err != nil {
		return nil, err
	}
	identity, err := sts.NewFromConfig(own).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return nil, fmt.Errorf("unable to determine the account: %w", err)
	}
	tally := newTally(args[2:])
	var all sync.WaitGroup
	for range counts[0] {
		// By default, the reconciler of a kind has one worker, which processes one resource after the other.
		all.Go(func() {
			for n := range counts[1] {
				for _, role := range args[2:] {
					tally.add(role)(retrieveRole(ctx, fmt.Sprintf("eu-west-%d", n+1), role))
				}
			}
		})
	}
	all.Wait()
	return map[string]any{"identity": map[string]any{"account": *identity.Account, "arn": *identity.Arn}, "roles": tally.reports}, nil
}

func retrieveRole(ctx context.Context, region, roleARN string) (aws.Credentials, error) {
	cfg, err := newAWSConfig(ctx, region, roleARN)
	if err != nil {
		return aws.Credentials{}, err
	}
	return cfg.Credentials.Retrieve(ctx)
}

// stream renews CALLS sessions, AT_ONCE at a time, as the providers of AT_ONCE configs do when their sessions have
// expired. Each config uses the base credentials that it received at the start.
func stream(ctx context.Context, _ aws.Config, args []string) (any, error) {
	counts, err := numbers(args[:2])
	if err != nil {
		return nil, err
	}
	clients := make([]*sts.Client, counts[1])
	for i := range clients {
		cfg, err := newAWSConfig(ctx, region, "")
		if err != nil {
			return nil, err
		}
		clients[i] = sts.NewFromConfig(cfg)
	}
	roles := args[2:]
	tally := newTally(roles)
	atOnce(counts[0], counts[1], func(worker, call int) {
		role := roles[call%len(roles)]
		tally.add(role)(stscreds.NewAssumeRoleProvider(clients[worker], role).Retrieve(ctx))
	})
	return map[string]any{"roles": tally.reports}, nil
}

// use calls an AWS service CALLS times, at most PER_SECOND times per second, with one provider for each role, as a
// reconciler does.
func use(ctx context.Context, _ aws.Config, args []string) (any, error) {
	counts, err := numbers(args[:2])
	if err != nil {
		return nil, err
	}
	endpoint, roles := args[2], args[3:]
	tally := newTally(roles)
	configs := make([]aws.Config, len(roles))
	services := make([]*sts.Client, len(roles))
	for i, role := range roles {
		cfg, err := newAWSConfig(ctx, region, role)
		if err != nil {
			return nil, err
		}
		configs[i] = cfg
		services[i] = sts.NewFromConfig(cfg, func(o *sts.Options) {
			o.BaseEndpoint = &endpoint
			// Disables retries, so that the report contains each rejected request.
			o.Retryer = aws.NopRetryer{}
		})
	}
	pace := time.NewTicker(time.Second / time.Duration(counts[1]))
	defer pace.Stop()
	atOnce(counts[0], 8, func(_, call int) {
		<-pace.C
		i := call % len(roles)
		_, err := services[i].GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
		if err != nil {
			tally.add(roles[i])(aws.Credentials{}, err)
			return
		}
		tally.add(roles[i])(configs[i].Credentials.Retrieve(ctx))
	})
	return map[string]any{"roles": tally.reports}, nil
}

func atOnce(count, workers int, work func(worker, call int)) {
	calls := make(chan int)
	var all sync.WaitGroup
	for worker := range workers {
		all.Go(func() {
			for call := range calls {
				work(worker, call)
			}
		})
	}
	for call := range count {
		calls <- call
	}
	close(calls)
	all.Wait()
}

func numbers(texts []string) ([]int, error) {
	all := make([]int, len(texts))
	for i, text := range texts {
		number, err := strconv.Atoi(text)
		if err != nil {
			return nil, err
		}
		all[i] = number
	}
	return all, nil
}
