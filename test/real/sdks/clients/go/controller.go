package main

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

// controller does what the runtime of ACK controllers does (aws-controllers-k8s/runtime, pkg/runtime/config.go and pkg/config/config.go):
// asks who it is, and dies if nobody says so; then makes for every kind, region and role a provider of its own, without options and
// so with a session name of its own, and keeps it in a cache without an expiry window.
func controller(ctx context.Context, cfg aws.Config, args []string) (any, error) {
	counts, err := numbers(args[:2])
	if err != nil {
		return nil, err
	}
	identity, err := sts.NewFromConfig(cfg).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return nil, fmt.Errorf("unable to determine the account: %w", err)
	}
	tally := newTally(args[2:])
	var all sync.WaitGroup
	for range counts[0] {
		for region := range counts[1] {
			for _, role := range args[2:] {
				all.Go(func() { tally.add(role)(roleProvider(inRegion(cfg, region), role).Retrieve(ctx)) })
			}
		}
	}
	all.Wait()
	return map[string]any{"identity": map[string]any{"account": *identity.Account, "arn": *identity.Arn}, "roles": tally.reports}, nil
}

// stream has CALLS controllers' providers, AT_ONCE at a time, get their first credentials, each with an AssumeRole of its own.
func stream(ctx context.Context, cfg aws.Config, args []string) (any, error) {
	roles := args[2:]
	tally := newTally(roles)
	err := atOnce(args[:2], func(call int) {
		role := roles[call%len(roles)]
		tally.add(role)(roleProvider(cfg, role).Retrieve(ctx))
	})
	return map[string]any{"roles": tally.reports}, err
}

// use calls an AWS service CALLS times, AT_ONCE at a time, with one provider for each role, as reconciling does.
func use(ctx context.Context, cfg aws.Config, args []string) (any, error) {
	endpoint, roles := args[2], args[3:]
	tally := newTally(roles)
	providers := make([]*aws.CredentialsCache, len(roles))
	services := make([]*sts.Client, len(roles))
	for i, role := range roles {
		providers[i] = roleProvider(cfg, role)
		services[i] = sts.NewFromConfig(cfg, func(o *sts.Options) {
			o.BaseEndpoint = &endpoint
			o.Credentials = providers[i]
			// A request that is refused is to be seen, not repeated.
			o.Retryer = aws.NopRetryer{}
		})
	}
	err := atOnce(args[:2], func(call int) {
		i := call % len(roles)
		_, err := services[i].GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
		if err != nil {
			tally.add(roles[i])(aws.Credentials{}, err)
			return
		}
		tally.add(roles[i])(providers[i].Retrieve(ctx))
	})
	return map[string]any{"roles": tally.reports}, err
}

func inRegion(cfg aws.Config, region int) aws.Config {
	regional := cfg.Copy()
	regional.Region = fmt.Sprintf("eu-west-%d", region+1)
	return regional
}

func roleProvider(cfg aws.Config, roleARN string) *aws.CredentialsCache {
	return aws.NewCredentialsCache(stscreds.NewAssumeRoleProvider(sts.NewFromConfig(cfg), roleARN))
}

func atOnce(args []string, work func(call int)) error {
	counts, err := numbers(args)
	if err != nil {
		return err
	}
	calls := make(chan int)
	var workers sync.WaitGroup
	for range counts[1] {
		workers.Go(func() {
			for call := range calls {
				work(call)
			}
		})
	}
	for call := range counts[0] {
		calls <- call
	}
	close(calls)
	workers.Wait()
	return nil
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
