package main

import (
	"context"
	"fmt"
	"sync"

	ackv1alpha1 "github.com/aws-controllers-k8s/runtime/apis/core/v1alpha1"
	ackcompare "github.com/aws-controllers-k8s/runtime/pkg/compare"
	ackcondition "github.com/aws-controllers-k8s/runtime/pkg/condition"
	ackcfg "github.com/aws-controllers-k8s/runtime/pkg/config"
	ackerr "github.com/aws-controllers-k8s/runtime/pkg/errors"
	ackmetrics "github.com/aws-controllers-k8s/runtime/pkg/metrics"
	acktypes "github.com/aws-controllers-k8s/runtime/pkg/types"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// factory caches managers by account, region and role, as generated factories do: the session of the first
// reconciliation serves all others.
type factory struct{ managers sync.Map }

func (f *factory) ResourceDescriptor() acktypes.AWSResourceDescriptor { return descriptor{} }
func (f *factory) IsAdoptable() bool                                  { return false }
func (f *factory) RequeueOnSuccessSeconds() int                       { return 0 }

func (f *factory) ManagerFor(
	cfg ackcfg.Config, session aws.Config, _ logr.Logger, _ *ackmetrics.Metrics, _ acktypes.Reconciler,
	account ackv1alpha1.AWSAccountID, region ackv1alpha1.AWSRegion, roleARN ackv1alpha1.AWSResourceName,
) (acktypes.AWSResourceManager, error) {
	// AWS_ENDPOINT_URL_STS is for AssumeRole. The service of the resource is at --aws-endpoint-url.
	service := sts.NewFromConfig(session, func(o *sts.Options) { o.BaseEndpoint = session.BaseEndpoint })
	created := &manager{service: service, account: account, region: region, partition: ackv1alpha1.AWSPartition(cfg.Partition)}
	cached, _ := f.managers.LoadOrStore(fmt.Sprintf("%s/%s/%s", account, region, roleARN), created)
	return cached.(*manager), nil
}

// manager reconciles Buckets with one session. Whoever asks STS for the identity of the session "creates" the Bucket.
type manager struct {
	service   *sts.Client
	account   ackv1alpha1.AWSAccountID
	region    ackv1alpha1.AWSRegion
	partition ackv1alpha1.AWSPartition
}

func (m *manager) ReadOne(ctx context.Context, res acktypes.AWSResource) (acktypes.AWSResource, error) {
	if bucketOf(res).Status.Caller == "" {
		return nil, ackerr.NotFound
	}
	return m.Create(ctx, res)
}

// Create sets the account and the condition Recoverable even if it fails, as generated managers do.
func (m *manager) Create(ctx context.Context, res acktypes.AWSResource) (acktypes.AWSResource, error) {
	result := &resource{bucketOf(res).deepCopy()}
	status := &result.bucket.Status
	if status.ACKResourceMetadata == nil {
		status.ACKResourceMetadata = &ackv1alpha1.ResourceMetadata{
			OwnerAccountID: &m.account, Region: &m.region, Partition: &m.partition,
		}
	}
	caller, err := m.service.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		message := err.Error()
		ackcondition.SetRecoverable(result, corev1.ConditionTrue, &message, nil)
		return result, err
	}
	status.Caller = *caller.Arn
	status.ObservedGeneration = result.bucket.Generation
	return result, nil
}

func (m *manager) Update(
	_ context.Context, _, latest acktypes.AWSResource, _ *ackcompare.Delta,
) (acktypes.AWSResource, error) {
	return latest, nil
}

func (m *manager) Delete(context.Context, acktypes.AWSResource) (acktypes.AWSResource, error) {
	return nil, nil
}

func (m *manager) ResolveReferences(
	_ context.Context, _ client.Reader, res acktypes.AWSResource,
) (acktypes.AWSResource, bool, error) {
	return res, false, nil
}

func (m *manager) ClearResolvedReferences(res acktypes.AWSResource) acktypes.AWSResource {
	return res.DeepCopy()
}

func (m *manager) LateInitialize(_ context.Context, latest acktypes.AWSResource) (acktypes.AWSResource, error) {
	return latest, nil
}

func (m *manager) EnsureTags(context.Context, acktypes.AWSResource, acktypes.ServiceControllerMetadata) error {
	return nil
}

func (m *manager) ARNFromName(name string) string                               { return "arn:aws:s3:::" + name }
func (m *manager) IsSynced(context.Context, acktypes.AWSResource) (bool, error) { return true, nil }
func (m *manager) FilterSystemTags(acktypes.AWSResource, []string)              {}
