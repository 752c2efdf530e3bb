package main

import (
	ackv1alpha1 "github.com/aws-controllers-k8s/runtime/apis/core/v1alpha1"
	ackcompare "github.com/aws-controllers-k8s/runtime/pkg/compare"
	acktypes "github.com/aws-controllers-k8s/runtime/pkg/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

const finalizer = "finalizers.s3.services.k8s.aws/Bucket"

var bucketKind = schema.GroupVersionKind{Group: "s3.services.k8s.aws", Version: "v1alpha1", Kind: "Bucket"}

// Bucket has the metadata and conditions of every ACK resource.
type Bucket struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              BucketSpec   `json:"spec,omitempty"`
	Status            BucketStatus `json:"status,omitempty"`
}

type BucketSpec struct {
	Name string `json:"name"`
}

type BucketStatus struct {
	ACKResourceMetadata *ackv1alpha1.ResourceMetadata `json:"ackResourceMetadata"`
	Conditions          []*ackv1alpha1.Condition      `json:"conditions"`
	// Caller is the ARN that STS returned for the session of the last reconciliation.
	Caller string `json:"caller,omitempty"`
	// ObservedGeneration is the generation of the last reconciliation that had a session.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
}

type BucketList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Bucket `json:"items"`
}

func addToScheme(scheme *runtime.Scheme) {
	scheme.AddKnownTypes(bucketKind.GroupVersion(), &Bucket{}, &BucketList{})
	metav1.AddToGroupVersion(scheme, bucketKind.GroupVersion())
}

func (b *Bucket) DeepCopyObject() runtime.Object { return b.deepCopy() }

func (b *Bucket) deepCopy() *Bucket {
	result := *b
	result.ObjectMeta = *b.ObjectMeta.DeepCopy()
	result.Status.ACKResourceMetadata = b.Status.ACKResourceMetadata.DeepCopy()
	result.Status.Conditions = nil
	for _, condition := range b.Status.Conditions {
		result.Status.Conditions = append(result.Status.Conditions, condition.DeepCopy())
	}
	return &result
}

func (l *BucketList) DeepCopyObject() runtime.Object {
	result := *l
	result.Items = nil
	for i := range l.Items {
		result.Items = append(result.Items, *l.Items[i].deepCopy())
	}
	return &result
}

// resource is a Bucket for ACK's runtime.
type resource struct{ bucket *Bucket }

func bucketOf(res acktypes.AWSResource) *Bucket { return res.(*resource).bucket }

func (r *resource) Conditions() []*ackv1alpha1.Condition         { return r.bucket.Status.Conditions }
func (r *resource) ReplaceConditions(c []*ackv1alpha1.Condition) { r.bucket.Status.Conditions = c }
func (r *resource) IsBeingDeleted() bool                         { return !r.bucket.DeletionTimestamp.IsZero() }
func (r *resource) RuntimeObject() client.Object                 { return r.bucket }
func (r *resource) MetaObject() metav1.Object                    { return r.bucket }
func (r *resource) SetObjectMeta(meta metav1.ObjectMeta)         { r.bucket.ObjectMeta = meta }
func (r *resource) SetStatus(other acktypes.AWSResource)         { r.bucket.Status = bucketOf(other).Status }
func (r *resource) DeepCopy() acktypes.AWSResource               { return &resource{r.bucket.deepCopy()} }
func (r *resource) Identifiers() acktypes.AWSResourceIdentifiers {
	if r.bucket.Status.ACKResourceMetadata == nil {
		return identifiers{}
	}
	return identifiers{*r.bucket.Status.ACKResourceMetadata}
}
func (r *resource) SetIdentifiers(*ackv1alpha1.AWSIdentifiers) error              { return nil }
func (r *resource) PopulateResourceFromAnnotation(fields map[string]string) error { return nil }

type identifiers struct{ metadata ackv1alpha1.ResourceMetadata }

func (i identifiers) ARN() *ackv1alpha1.AWSResourceName         { return i.metadata.ARN }
func (i identifiers) OwnerAccountID() *ackv1alpha1.AWSAccountID { return i.metadata.OwnerAccountID }
func (i identifiers) Region() *ackv1alpha1.AWSRegion            { return i.metadata.Region }
func (i identifiers) Partition() *ackv1alpha1.AWSPartition      { return i.metadata.Partition }

type descriptor struct{}

func (descriptor) GroupVersionKind() schema.GroupVersionKind { return bucketKind }
func (descriptor) EmptyRuntimeObject() client.Object         { return &Bucket{} }
func (descriptor) ResourceFromRuntimeObject(object client.Object) acktypes.AWSResource {
	return &resource{object.(*Bucket)}
}

// Delta is always empty, because nothing changes a Bucket outside of Kubernetes.
func (descriptor) Delta(_, _ acktypes.AWSResource) *ackcompare.Delta { return ackcompare.NewDelta() }
func (descriptor) IsManaged(res acktypes.AWSResource) bool {
	return controllerutil.ContainsFinalizer(bucketOf(res), finalizer)
}
func (descriptor) MarkManaged(res acktypes.AWSResource) {
	controllerutil.AddFinalizer(bucketOf(res), finalizer)
}
func (descriptor) MarkUnmanaged(res acktypes.AWSResource) {
	controllerutil.RemoveFinalizer(bucketOf(res), finalizer)
}
func (descriptor) MarkAdopted(acktypes.AWSResource) {}
