package main

import (
	"context"
	"fmt"
	"strings"

	helm "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/ssa/jsondiff"
	"github.com/fluxcd/pkg/ssa/normalize"
	"github.com/fluxcd/pkg/ssa/utils"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Release is a release of Helm in a cluster.
type Release struct {
	Kubeconfig string `json:"kubeconfig"`
	Name       string `json:"name"`
	Namespace  string `json:"namespace"`
	// Manifest is the output of `helm get manifest`.
	Manifest string `json:"manifest"`
}

// driftOf returns what the drift detection of Flux's helm-controller finds, such as `Deployment a: /spec/replicas`.
func driftOf(release Release) ([]string, error) {
	config, err := clientcmd.BuildConfigFromFlags("", release.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	dryRun := true
	cluster, err := client.New(config, client.Options{DryRun: &dryRun})
	if err != nil {
		return nil, fmt.Errorf("connecting: %w", err)
	}
	objects, err := utils.ReadObjects(strings.NewReader(release.Manifest))
	if err != nil {
		return nil, fmt.Errorf("reading the manifest: %w", err)
	}
	if err := normalize.UnstructuredListWithScheme(objects, cluster.Scheme()); err != nil {
		return nil, fmt.Errorf("normalizing the manifest: %w", err)
	}
	for _, object := range objects {
		if err := complete(object, release, cluster); err != nil {
			return nil, err
		}
	}
	found, err := jsondiff.UnstructuredList(context.Background(), cluster, objects,
		jsondiff.FieldOwner("helm-controller"),
		jsondiff.ExclusionSelector{helm.DriftDetectionMetadataKey: helm.DriftDetectionDisabledValue},
		jsondiff.Rationalize(true),
	)
	if err != nil {
		return nil, fmt.Errorf("comparing: %w", err)
	}
	texts := []string{}
	for _, one := range found {
		subject := fmt.Sprintf("%s %s", one.GroupVersionKind().Kind, one.GetName())
		switch one.Type {
		case jsondiff.DiffTypeCreate:
			texts = append(texts, subject+": missing")
		case jsondiff.DiffTypeExclude:
			texts = append(texts, subject+": excluded")
		}
		for _, change := range one.Patch {
			texts = append(texts, fmt.Sprintf("%s: %s", subject, change.Path))
		}
	}
	return texts, nil
}

// complete adds what Helm adds to each object of a release.
func complete(object *unstructured.Unstructured, release Release, cluster client.Client) error {
	labels, annotations := object.GetLabels(), object.GetAnnotations()
	if labels == nil {
		labels = map[string]string{}
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	labels["app.kubernetes.io/managed-by"] = "Helm"
	annotations["meta.helm.sh/release-name"] = release.Name
	annotations["meta.helm.sh/release-namespace"] = release.Namespace
	object.SetLabels(labels)
	object.SetAnnotations(annotations)
	isNamespaced, err := cluster.IsObjectNamespaced(object)
	if err != nil {
		return fmt.Errorf("finding the scope of %s: %w", object.GetKind(), err)
	}
	if isNamespaced && object.GetNamespace() == "" {
		object.SetNamespace(release.Namespace)
	}
	return nil
}
