// Answers questions about objects as Argo CD and Flux do: reads one JSON object per line, and writes one JSON object per line.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/util/argo/diff"
	"github.com/argoproj/argo-cd/v3/util/argo/normalizers"
	"github.com/argoproj/argo-cd/v3/util/lua"
	"github.com/argoproj/argo-cd/v3/util/settings"
	"github.com/argoproj/gitops-engine/pkg/health"
	"github.com/argoproj/gitops-engine/pkg/sync/syncwaves"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// Query is an object that an Application manages.
type Query struct {
	// Application is the text of the Application. An unknown field is an error.
	Application string `json:"application"`
	// Customizations is the text of `resource.customizations` in argocd-cm.
	Customizations string `json:"customizations"`
	// Flux is the text of an object of Flux, in place of all other fields.
	Flux string `json:"flux"`
	// Release is compared as Flux does, in place of all other fields.
	Release *Release `json:"release"`
	// Target is the object in Git, and Live the one in the cluster.
	Target *unstructured.Unstructured `json:"target"`
	Live   *unstructured.Unstructured `json:"live"`
}

// Answer is what Argo CD does with the object.
type Answer struct {
	Wave     int  `json:"wave"`
	Excluded bool `json:"excluded"`
	// Live and Predicted are the normalized objects if they differ.
	Live      json.RawMessage `json:"live,omitempty"`
	Predicted json.RawMessage `json:"predicted,omitempty"`
	// Health is absent for a kind without a health check.
	Health *health.HealthStatus `json:"health,omitempty"`
}

func main() {
	if err := run(json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)); err != nil {
		fmt.Fprintln(os.Stderr, "argo-cd:", err)
		os.Exit(1)
	}
}

func run(queries *json.Decoder, answers *json.Encoder) error {
	for {
		var query Query
		if err := queries.Decode(&query); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("reading a query: %w", err)
		}
		answer, err := answerTo(query)
		if err != nil {
			return err
		}
		if err := answers.Encode(answer); err != nil {
			return fmt.Errorf("writing an answer: %w", err)
		}
	}
}

func answerTo(query Query) (any, error) {
	if query.Flux != "" {
		return map[string]string{"fault": fluxFault(query.Flux)}, nil
	}
	if query.Release != nil {
		drift, err := driftOf(*query.Release)
		return map[string][]string{"drift": drift}, err
	}
	answer, err := answerOfArgoCD(query)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", query.Target.GetName(), err)
	}
	return answer, nil
}

func answerOfArgoCD(query Query) (Answer, error) {
	var application v1alpha1.Application
	if err := yaml.UnmarshalStrict([]byte(query.Application), &application); err != nil {
		return Answer{}, fmt.Errorf("reading the Application: %w", err)
	}
	overrides := map[string]v1alpha1.ResourceOverride{}
	if err := yaml.UnmarshalStrict([]byte(query.Customizations), &overrides); err != nil {
		return Answer{}, fmt.Errorf("reading the customizations: %w", err)
	}
	kind := query.Target.GroupVersionKind()
	filter := settings.ResourcesFilter{}
	answer := Answer{
		Wave:     syncwaves.Wave(query.Target),
		Excluded: filter.IsExcludedResource(kind.Group, kind.Kind, "https://kubernetes.default.svc"),
	}
	if err := compare(query, application, overrides, &answer); err != nil {
		return Answer{}, err
	}
	var err error
	answer.Health, err = health.GetResourceHealth(query.Live, lua.ResourceHealthOverrides(overrides))
	return answer, err
}

// compare is the comparison of the application controller, without its cache and its server-side diff.
func compare(
	query Query, application v1alpha1.Application, overrides map[string]v1alpha1.ResourceOverride, answer *Answer,
) error {
	config, err := diff.NewDiffConfigBuilder().
		WithDiffSettings(application.Spec.IgnoreDifferences, overrides, false, normalizers.IgnoreNormalizerOpts{}).
		WithTracking("app.kubernetes.io/instance", "annotation").
		WithNoCache().
		Build()
	if err != nil {
		return fmt.Errorf("building the comparison: %w", err)
	}
	result, err := diff.StateDiff(query.Live, query.Target, config)
	if err != nil {
		return fmt.Errorf("comparing: %w", err)
	}
	if result.Modified {
		answer.Live, answer.Predicted = result.NormalizedLive, result.PredictedLive
	}
	return nil
}
