// Command controller reconciles Buckets like the S3 controller of ACK: it selects a role by IAMRoleSelectors, assumes the role for each
// kind, region and role, and calls S3 with the credentials of the role.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/aws/aws-sdk-go-v2/service/sts"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

func main() {
	ctrl.SetLogger(zap.New())
	if err := run(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	account, err := ownAccount(ctx)
	if err != nil {
		return fmt.Errorf("unable to determine the account: %w", err)
	}
	ctrl.Log.Info("identity", "account", account)
	manager, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{
		Metrics: server.Options{BindAddress: "0"},
		Client:  client.Options{Cache: &client.CacheOptions{Unstructured: true}},
	})
	if err != nil {
		return err
	}
	reconciler := &reconciler{Client: manager.GetClient(), ownAccount: account}
	if err := ctrl.NewControllerManagedBy(manager).For(object(bucketKind)).Complete(reconciler); err != nil {
		return err
	}
	return manager.Start(ctx)
}

// ownAccount returns the account of the controller's own identity. ACK controllers read it once, and exit without it.
func ownAccount(ctx context.Context) (string, error) {
	config, err := newAWSConfig(ctx, os.Getenv("AWS_REGION"), "")
	if err != nil {
		return "", err
	}
	identity, err := sts.NewFromConfig(config).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return "", err
	}
	return *identity.Account, nil
}
