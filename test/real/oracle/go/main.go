// Answers questions on standard input, one JSON object a line, with one JSON object a line on standard output, by calling the code
// that is shipped: the selector cache of ACK controllers, and Kubernetes' validation of label selectors and names.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

// Question has exactly one of its fields set.
type Question struct {
	Selection     *SelectionQuestion     `json:"selection"`
	LabelSelector *LabelSelectorQuestion `json:"labelSelector"`
	Names         []string               `json:"names"`
}

func main() {
	if err := answerAll(); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}

func answerAll() error {
	matcher, err := startMatcher()
	if err != nil {
		return err
	}
	questions := json.NewDecoder(bufio.NewReaderSize(os.Stdin, 1<<20))
	output := bufio.NewWriterSize(os.Stdout, 1<<20)
	answers := json.NewEncoder(output)
	for questions.More() {
		var question Question
		if err := questions.Decode(&question); err != nil {
			return fmt.Errorf("reading a question: %w", err)
		}
		answer, err := answerOne(matcher, question)
		if err != nil {
			return err
		}
		if err := answers.Encode(answer); err != nil {
			return fmt.Errorf("writing an answer: %w", err)
		}
	}
	return output.Flush()
}

func answerOne(matcher *matcher, question Question) (any, error) {
	switch {
	case question.Selection != nil:
		return matcher.answer(*question.Selection)
	case question.LabelSelector != nil:
		return answerLabelSelector(*question.LabelSelector), nil
	case question.Names != nil:
		return answerNames(question.Names), nil
	}
	return nil, fmt.Errorf("a question without a known field")
}
