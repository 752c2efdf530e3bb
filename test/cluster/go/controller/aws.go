package main

import (
	"context"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

const httpTimeout = 60 * time.Second

// userAgent is a wrapper like that of ACK's runtime. The SDK cannot tune the client below it.
type userAgent struct{ client aws.HTTPClient }

func (u userAgent) Do(request *http.Request) (*http.Response, error) {
	request.Header.Set("User-Agent", "aws-controllers-k8s "+request.Header.Get("User-Agent"))
	return u.client.Do(request)
}

// newAWSConfig does the same as NewAWSConfig of ACK's runtime (aws-controllers-k8s/runtime v0.62.0, pkg/runtime/config.go).
func newAWSConfig(ctx context.Context, region, roleARN string) (aws.Config, error) {
	client := userAgent{awshttp.NewBuildableClient().WithTimeout(httpTimeout)}
	cfg, err := config.LoadDefaultConfig(ctx, config.WithRegion(region), config.WithHTTPClient(client))
	if err != nil {
		return cfg, err
	}
	if roleARN != "" {
		cfg.Credentials = aws.NewCredentialsCache(stscreds.NewAssumeRoleProvider(sts.NewFromConfig(cfg), roleARN))
	}
	return cfg, nil
}
