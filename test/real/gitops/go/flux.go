package main

import (
	helm "github.com/fluxcd/helm-controller/api/v2"
	source "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// fluxFault returns why the text is not an object of Flux: an unknown kind or field, or a value of a wrong type.
func fluxFault(text string) string {
	var typed metav1.TypeMeta
	if err := yaml.Unmarshal([]byte(text), &typed); err != nil {
		return err.Error()
	}
	object, isKnown := map[schema.GroupVersionKind]any{
		helm.GroupVersion.WithKind("HelmRelease"):      &helm.HelmRelease{},
		source.GroupVersion.WithKind("HelmRepository"): &source.HelmRepository{},
	}[typed.GroupVersionKind()]
	if !isKnown {
		return typed.GroupVersionKind().String() + " is not a kind of this version of Flux"
	}
	if err := yaml.UnmarshalStrict([]byte(text), object); err != nil {
		return err.Error()
	}
	return ""
}
