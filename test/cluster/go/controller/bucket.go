package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// requeueAfter is the time until a resource is reconciled again after an error.
const requeueAfter = 2 * time.Second

// roleAnnotation names a role that the controller assumes without a selector, as a CARM map would.
const roleAnnotation = "test.ack-role-resolver.io/role-arn"

var (
	bucketKind   = schema.GroupVersionKind{Group: "s3.services.k8s.aws", Version: "v1alpha1", Kind: "Bucket"}
	selectorList = schema.GroupVersionKind{Group: "services.k8s.aws", Version: "v1alpha1", Kind: "IAMRoleSelectorList"}
)

func object(kind schema.GroupVersionKind) *unstructured.Unstructured {
	one := &unstructured.Unstructured{}
	one.SetGroupVersionKind(kind)
	return one
}

type reconciler struct {
	client.Client
	ownAccount string
	configs    sync.Map
}

type configKey struct{ kind, region, role string }

// config returns one configuration for each kind, region and role, as ACK's runtime caches resource managers.
func (r *reconciler) config(ctx context.Context, key configKey) (aws.Config, error) {
	if cached, found := r.configs.Load(key); found {
		return cached.(aws.Config), nil
	}
	cfg, err := newAWSConfig(ctx, key.region, key.role)
	if err == nil {
		r.configs.Store(key, cfg)
	}
	return cfg, err
}

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	bucket := object(bucketKind)
	if err := r.Get(ctx, request.NamespacedName, bucket); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	role, err := r.roleOf(ctx, bucket)
	if err != nil {
		return ctrl.Result{}, err
	}
	failure := r.create(ctx, bucket.GetName(), role)
	if err := r.writeStatus(ctx, bucket, role, failure); err != nil {
		return ctrl.Result{}, err
	}
	if failure != nil {
		return ctrl.Result{RequeueAfter: requeueAfter}, nil
	}
	return ctrl.Result{}, nil
}

// roleOf returns the role of the only selector that names the namespace, or an empty string for the controller's own identity.
func (r *reconciler) roleOf(ctx context.Context, bucket *unstructured.Unstructured) (string, error) {
	if role := bucket.GetAnnotations()[roleAnnotation]; role != "" {
		return role, nil
	}
	selectors := &unstructured.UnstructuredList{}
	selectors.SetGroupVersionKind(selectorList)
	if err := r.List(ctx, selectors); err != nil {
		return "", err
	}
	roles := []string{}
	for _, selector := range selectors.Items {
		names, _, _ := unstructured.NestedStringSlice(selector.Object, "spec", "namespaceSelector", "names")
		if slices.Contains(names, bucket.GetNamespace()) {
			role, _, _ := unstructured.NestedString(selector.Object, "spec", "arn")
			roles = append(roles, role)
		}
	}
	if len(roles) > 1 {
		return "", errors.New("cannot determine which IAMRoleSelector to use")
	}
	return append(roles, "")[0], nil
}

func (r *reconciler) create(ctx context.Context, name, role string) error {
	region := os.Getenv("AWS_REGION")
	cfg, err := r.config(ctx, configKey{bucketKind.Kind, region, role})
	if err != nil {
		return err
	}
	_, err = s3.NewFromConfig(cfg).CreateBucket(ctx, &s3.CreateBucketInput{
		Bucket: &name,
		CreateBucketConfiguration: &types.CreateBucketConfiguration{
			LocationConstraint: types.BucketLocationConstraint(region),
		},
	})
	var owned *types.BucketAlreadyOwnedByYou
	if errors.As(err, &owned) {
		return nil
	}
	return err
}

func (r *reconciler) writeStatus(ctx context.Context, bucket *unstructured.Unstructured, role string, failure error) error {
	account := r.ownAccount
	if parsed, err := arn.Parse(role); err == nil {
		account = parsed.AccountID
	}
	condition := map[string]any{"type": "ACK.ResourceSynced", "status": "True"}
	if failure != nil {
		condition = map[string]any{"type": "ACK.Recoverable", "status": "True", "message": failure.Error()}
	}
	before := bucket.DeepCopy()
	bucket.Object["status"] = map[string]any{
		"ackResourceMetadata": map[string]any{"ownerAccountID": account, "region": os.Getenv("AWS_REGION")},
		"conditions":          []any{condition},
	}
	return r.Status().Patch(ctx, bucket, client.MergeFrom(before))
}
