// Reads queries from standard input and writes results to standard output, one JSON object per line. It calls the
// selector cache of ACK controllers, and Kubernetes' validation of label selectors and names.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

// Query has exactly one non-nil field.
type Query struct {
	Selection     *SelectionQuery     `json:"selection"`
	LabelSelector *LabelSelectorQuery `json:"labelSelector"`
	Names         []string            `json:"names"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}

func run() error {
	matcher, err := startMatcher()
	if err != nil {
		return err
	}
	queries := json.NewDecoder(bufio.NewReaderSize(os.Stdin, 1<<20))
	output := bufio.NewWriterSize(os.Stdout, 1<<20)
	results := json.NewEncoder(output)
	for queries.More() {
		var query Query
		if err := queries.Decode(&query); err != nil {
			return fmt.Errorf("reading a query: %w", err)
		}
		result, err := resultOf(matcher, query)
		if err != nil {
			return err
		}
		if err := results.Encode(result); err != nil {
			return fmt.Errorf("writing a result: %w", err)
		}
	}
	return output.Flush()
}

func resultOf(matcher *matcher, query Query) (any, error) {
	switch {
	case query.Selection != nil:
		return matcher.run(*query.Selection)
	case query.LabelSelector != nil:
		return matchLabels(*query.LabelSelector), nil
	case query.Names != nil:
		return validateNames(query.Names), nil
	}
	return nil, fmt.Errorf("a query has no known field")
}
