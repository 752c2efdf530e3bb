package main

import (
	"fmt"
	"time"
	_ "unsafe" // for go:linkname
)

// The SDK's clock, by which it signs and by which it takes credentials for expired. Nothing public sets it.
//
//go:linkname sdkNow github.com/aws/aws-sdk-go-v2/internal/sdk.NowTime
var sdkNow func() time.Time

// setClock has the SDK's clock go SPEED times as fast from a moment on, given as "EPOCH_MS SPEED", so that hours pass in seconds.
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
