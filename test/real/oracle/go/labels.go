package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
)

// LabelSelectorQuery is a label selector, and the label sets to match with it.
type LabelSelectorQuery struct {
	Selector metav1.LabelSelector `json:"selector"`
	Labels   []map[string]string  `json:"labels"`
}

// LabelSelectorResult states whether the selector is valid, and whether it matches each label set.
type LabelSelectorResult struct {
	Valid   bool   `json:"valid"`
	Matches []bool `json:"matches"`
}

func matchLabels(query LabelSelectorQuery) LabelSelectorResult {
	result := LabelSelectorResult{Matches: make([]bool, len(query.Labels))}
	selector, err := metav1.LabelSelectorAsSelector(&query.Selector)
	if err != nil {
		return result
	}
	result.Valid = true
	for i, set := range query.Labels {
		result.Matches[i] = selector.Matches(labels.Set(set))
	}
	return result
}

// NameResult states for each kind of name whether a text is valid.
type NameResult struct {
	QualifiedName bool `json:"qualifiedName"`
	LabelValue    bool `json:"labelValue"`
	DNSLabel      bool `json:"dnsLabel"`
	DNSSubdomain  bool `json:"dnsSubdomain"`
}

func validateNames(names []string) []NameResult {
	results := make([]NameResult, len(names))
	for i, name := range names {
		results[i] = NameResult{
			QualifiedName: len(validation.IsQualifiedName(name)) == 0,
			LabelValue:    len(validation.IsValidLabelValue(name)) == 0,
			DNSLabel:      len(validation.IsDNS1123Label(name)) == 0,
			DNSSubdomain:  len(validation.IsDNS1123Subdomain(name)) == 0,
		}
	}
	return results
}
