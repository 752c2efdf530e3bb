package main

import (
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// report is what became of one role over all its providers: how many got each access key, until when each key is said to live, and how
// often each error was met.
type report struct {
	Sessions    map[string]int    `json:"sessions"`
	Expirations map[string]string `json:"expirations"`
	Errors      map[string]int    `json:"errors"`
}

type tally struct {
	lock    sync.Mutex
	reports map[string]*report
}

func newTally(roles []string) *tally {
	reports := map[string]*report{}
	for _, role := range roles {
		reports[role] = &report{map[string]int{}, map[string]string{}, map[string]int{}}
	}
	return &tally{reports: reports}
}

// add returns what takes the outcome of one call.
func (t *tally) add(role string) func(aws.Credentials, error) {
	return func(credentials aws.Credentials, err error) {
		t.lock.Lock()
		defer t.lock.Unlock()
		report := t.reports[role]
		if err != nil {
			report.Errors[err.Error()]++
			return
		}
		report.Sessions[credentials.AccessKeyID]++
		report.Expirations[credentials.AccessKeyID] = timestamp(credentials.Expires)
	}
}
