package main

import (
	"fmt"
	"sort"
	"time"

	"github.com/aws-controllers-k8s/runtime/pkg/runtime/iamroleselector"
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	kubernetesfake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

const patience = 20 * time.Second

// SelectionQuestion asks, after a sequence of writes to an empty cluster, which selectors select each resource.
type SelectionQuestion struct {
	Writes    []Write    `json:"writes"`
	Resources []Resource `json:"resources"`
}

// Write is what a watch tells: an IAMRoleSelector as it is now, or with Remove that it is gone.
type Write struct {
	Object map[string]any `json:"object"`
	Remove bool           `json:"remove"`
}

// Resource is an ACK resource, with the labels of its namespace.
type Resource struct {
	Namespace       string            `json:"namespace"`
	NamespaceLabels map[string]string `json:"namespaceLabels"`
	Group           string            `json:"group"`
	Version         string            `json:"version"`
	Kind            string            `json:"kind"`
	Labels          map[string]string `json:"labels"`
}

// SelectionAnswer names the selectors that the cache holds, and for each resource those that select it; all sorted.
type SelectionAnswer struct {
	Cached    []string   `json:"cached"`
	Selecting [][]string `json:"selecting"`
}

// matcher is a controller's selector cache behind a watch that we write to.
type matcher struct {
	cache  *iamroleselector.Cache
	events *watch.FakeWatcher
	marks  int
}

func startMatcher() (*matcher, error) {
	resource := schema.GroupVersionResource{Group: "services.k8s.aws", Version: "v1alpha1", Resource: "iamroleselectors"}
	kinds := map[schema.GroupVersionResource]string{resource: "IAMRoleSelectorList"}
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds)
	events := watch.NewFakeWithChanSize(1024, false)
	client.PrependWatchReactor("iamroleselectors", func(clienttesting.Action) (bool, watch.Interface, error) {
		return true, events, nil
	})
	started := &matcher{cache: iamroleselector.NewCache(logr.Discard()), events: events}
	started.cache.Run(client, kubernetesfake.NewSimpleClientset(), make(chan struct{}))
	return started, waitFor("the cache to start", started.cache.HasSynced)
}

func (m *matcher) answer(question SelectionQuestion) (*SelectionAnswer, error) {
	live := map[string]map[string]any{}
	for _, write := range question.Writes {
		m.write(live, write)
	}
	if err := m.settle(); err != nil {
		return nil, err
	}
	answer := &SelectionAnswer{Cached: []string{}, Selecting: [][]string{}}
	for _, selector := range m.cache.ListSelectors() {
		answer.Cached = append(answer.Cached, selector.Name)
	}
	sort.Strings(answer.Cached)
	for _, resource := range question.Resources {
		names, err := m.selecting(resource)
		if err != nil {
			return nil, err
		}
		answer.Selecting = append(answer.Selecting, names)
	}
	for name := range live {
		m.write(live, Write{Object: live[name], Remove: true})
	}
	return answer, nil
}

func (m *matcher) write(live map[string]map[string]any, write Write) {
	object := &unstructured.Unstructured{Object: write.Object}
	_, exists := live[object.GetName()]
	switch {
	case write.Remove:
		m.events.Delete(object)
		delete(live, object.GetName())
		return
	case exists:
		m.events.Modify(object)
	default:
		m.events.Add(object)
	}
	live[object.GetName()] = write.Object
}

// settle returns once the cache has seen every write: it sees them in order, so a selector that comes and goes marks the end.
func (m *matcher) settle() error {
	m.marks++
	mark := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "services.k8s.aws/v1alpha1", "kind": "IAMRoleSelector",
		"metadata": map[string]any{"name": fmt.Sprintf("mark-%d", m.marks)},
		"spec":     map[string]any{"arn": "arn:aws:iam::111122223333:role/mark"},
	}}
	held := func() bool {
		_, found := m.cache.GetSelector(mark.GetName())
		return found
	}
	m.events.Add(mark)
	if err := waitFor("a write to be seen", held); err != nil {
		return err
	}
	m.events.Delete(mark)
	return waitFor("a removal to be seen", func() bool { return !held() })
}

func (m *matcher) selecting(resource Resource) ([]string, error) {
	kind := schema.GroupVersionKind{Group: resource.Group, Version: resource.Version, Kind: resource.Kind}
	selectors, err := m.cache.GetMatchingSelectors(resource.Namespace, resource.NamespaceLabels, kind, resource.Labels)
	if err != nil {
		return nil, err
	}
	names := []string{}
	for _, selector := range selectors {
		names = append(names, selector.Name)
	}
	sort.Strings(names)
	return names, nil
}

func waitFor(what string, done func() bool) error {
	for end := time.Now().Add(patience); !done(); time.Sleep(20 * time.Microsecond) {
		if time.Now().After(end) {
			return fmt.Errorf("waited %s for %s", patience, what)
		}
	}
	return nil
}
