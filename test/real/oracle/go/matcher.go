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

const timeout = 20 * time.Second

// SelectionQuery is a sequence of writes to an empty cluster, and the resources to select.
type SelectionQuery struct {
	Writes    []Write    `json:"writes"`
	Resources []Resource `json:"resources"`
}

// Write is a watch event. If Remove is false, Object is a created or changed IAMRoleSelector; otherwise, Object is
// deleted.
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

// SelectionResult has the sorted names of the cached selectors, and of the selectors that select each resource.
type SelectionResult struct {
	Cached    []string   `json:"cached"`
	Selecting [][]string `json:"selecting"`
}

// matcher is the selector cache of a controller, with a fake watch.
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

func (m *matcher) run(query SelectionQuery) (*SelectionResult, error) {
	live := map[string]map[string]any{}
	for _, write := range query.Writes {
		m.write(live, write)
	}
	if err := m.settle(); err != nil {
		return nil, err
	}
	result := &SelectionResult{Cached: []string{}, Selecting: [][]string{}}
	for _, selector := range m.cache.ListSelectors() {
		result.Cached = append(result.Cached, selector.Name)
	}
	sort.Strings(result.Cached)
	for _, resource := range query.Resources {
		names, err := m.selecting(resource)
		if err != nil {
			return nil, err
		}
		result.Selecting = append(result.Selecting, names)
	}
	for name := range live {
		m.write(live, Write{Object: live[name], Remove: true})
	}
	return result, nil
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

// settle waits until the cache has handled every write. The cache handles writes in order, so settle adds a marker
// selector, deletes it, and waits until the cache has handled both.
func (m *matcher) settle() error {
	m.marks++
	mark := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "services.k8s.aws/v1alpha1", "kind": "IAMRoleSelector",
		"metadata": map[string]any{"name": fmt.Sprintf("mark-%d", m.marks)},
		"spec":     map[string]any{"arn": "arn:aws:iam::111122223333:role/mark"},
	}}
	isCached := func() bool {
		_, found := m.cache.GetSelector(mark.GetName())
		return found
	}
	m.events.Add(mark)
	if err := waitFor("a write to be cached", isCached); err != nil {
		return err
	}
	m.events.Delete(mark)
	return waitFor("a deletion to be cached", func() bool { return !isCached() })
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
	for end := time.Now().Add(timeout); !done(); time.Sleep(20 * time.Microsecond) {
		if time.Now().After(end) {
			return fmt.Errorf("timed out after %s waiting for %s", timeout, what)
		}
	}
	return nil
}
