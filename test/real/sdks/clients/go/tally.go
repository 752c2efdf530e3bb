package main

import (
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// report contains the results of all calls for one role: how many calls received each access key, the expiration of
// each access key, and how often each error occurred.
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

// add returns a function that records the result of one call.
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
