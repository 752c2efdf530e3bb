// Command controller is an ACK controller for the API group s3.services.k8s.aws: ACK's runtime with its flags, caches,
// reconciler and sessions, and a resource of its own, which is a Bucket that exists only in Kubernetes.
package main

import (
	"context"
	"fmt"
	"os"

	ackcfg "github.com/aws-controllers-k8s/runtime/pkg/config"
	ackrt "github.com/aws-controllers-k8s/runtime/pkg/runtime"
	acktypes "github.com/aws-controllers-k8s/runtime/pkg/types"
	flag "github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrlrt "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const serviceAlias = "s3"

func main() {
	if err := run(ctrlrt.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run does the same as the generated main function of controllers such as s3-controller, without webhooks and probes.
func run(ctx context.Context) error {
	var cfg ackcfg.Config
	cfg.BindFlags()
	flag.Parse()
	cfg.SetupLogger()
	if err := cfg.Validate(ctx, ackcfg.WithGVKs([]schema.GroupVersionKind{bucketKind})); err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	addToScheme(scheme)
	manager, err := ctrlrt.NewManager(ctrlrt.GetConfigOrDie(), ctrlrt.Options{
		Scheme:  scheme,
		Metrics: server.Options{BindAddress: cfg.MetricsAddr},
	})
	if err != nil {
		return err
	}
	controller := ackrt.NewServiceController(serviceAlias, bucketKind.Group, acktypes.VersionInfo{GitVersion: "test"}).
		WithLogger(ctrlrt.Log).
		WithResourceManagerFactories([]acktypes.AWSResourceManagerFactory{&factory{}}).
		WithPrometheusRegistry(metrics.Registry)
	if err := controller.BindControllerManager(manager, cfg); err != nil {
		return err
	}
	return manager.Start(ctx)
}
