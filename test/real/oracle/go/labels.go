package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
)

// LabelSelectorQuestion asks which of several label sets a selector selects.
type LabelSelectorQuestion struct {
	Selector metav1.LabelSelector `json:"selector"`
	Labels   []map[string]string  `json:"labels"`
}

// LabelSelectorAnswer holds whether the selector is valid and, for each label set in order, whether it is selected.
type LabelSelectorAnswer struct {
	Valid   bool   `json:"valid"`
	Matches []bool `json:"matches"`
}

func answerLabelSelector(question LabelSelectorQuestion) LabelSelectorAnswer {
	answer := LabelSelectorAnswer{Matches: make([]bool, len(question.Labels))}
	selector, err := metav1.LabelSelectorAsSelector(&question.Selector)
	if err != nil {
		return answer
	}
	answer.Valid = true
	for i, set := range question.Labels {
		answer.Matches[i] = selector.Matches(labels.Set(set))
	}
	return answer
}

// NameAnswer holds what Kubernetes takes a text for.
type NameAnswer struct {
	QualifiedName bool `json:"qualifiedName"`
	LabelValue    bool `json:"labelValue"`
	DNSLabel      bool `json:"dnsLabel"`
	DNSSubdomain  bool `json:"dnsSubdomain"`
}

func answerNames(names []string) []NameAnswer {
	answers := make([]NameAnswer, len(names))
	for i, name := range names {
		answers[i] = NameAnswer{
			QualifiedName: len(validation.IsQualifiedName(name)) == 0,
			LabelValue:    len(validation.IsValidLabelValue(name)) == 0,
			DNSLabel:      len(validation.IsDNS1123Label(name)) == 0,
			DNSSubdomain:  len(validation.IsDNS1123Subdomain(name)) == 0,
		}
	}
	return answers
}
