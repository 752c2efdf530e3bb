package main

import (
	"fmt"
	"time"
	_ "unsafe" // for go:linkname
)

// The clock with which the SDK signs and decides whether credentials are expired. The SDK has no public API to set this
// clock.
//
//go:linkname sdkNow github.com/aws/aws-sdk-go-v2/internal/sdk.NowTime
var sdkNow func() time.Time

// setClock makes the SDK's clock run SPEED times as fast from the time EPOCH_MS, so that hours pass in seconds. The
// format of text is "EPOCH_MS SPEED".
func setClock(text string) error {
	if text == "" {
		return nil
	}
	var startMs, speed int64
	if _, err := fmt.Sscanf(text, "%d %d", &startMs, &speed); err != nil {
		return fmt.Errorf("CLIENT_CLOCK is EPOCH_MS SPEED: %w", err)
	}
	start := time.UnixMilli(startMs)
	sdkNow = func() time.Time { return start.Add(time.Since(start) * time.Duration(speed)) }
	return nil
}
