// Package sdk is what the packages of this module share about the AWS SDK: how its settings are
// found, and what its errors mean.
package sdk

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/smithy-go"
)

// Load finds the settings of a process. It asks nobody: the first request does. stall is how long
// an answer may not begin.
func Load(
	ctx context.Context, region, endpoint string, stall time.Duration, more ...func(*config.LoadOptions) error,
) (aws.Config, error) {
	patience := awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.ResponseHeaderTimeout = stall
	})
	load := []func(*config.LoadOptions) error{config.WithHTTPClient(patience)}
	if region != "" {
		load = append(load, config.WithRegion(region))
	}
	conf, err := config.LoadDefaultConfig(ctx, append(load, more...)...)
	switch {
	case err != nil:
		return conf, fmt.Errorf("load the settings of the SDK: %w", err)
	case conf.Region == "" && endpoint == "":
		return conf, errors.New("no region is known: set region in the task's config, or AWS_REGION for the process")
	case conf.Region == "":
		conf.Region = "us-east-1" // what gateways sign with unless they are told another
	}
	return conf, nil
}

// EndpointFault is what is wrong with the URL of an endpoint, or "". It never shows the text: a
// password may stand in it.
func EndpointFault(s string) string {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return "it is not a URL of http or https"
	case u.User != nil:
		return "a name or password stands in it: credentials come from each process"
	case u.RawQuery != "" || u.Fragment != "":
		return "it has a query or a fragment"
	}
	return ""
}

// Status is that of the answer, 0 where none came.
func Status(err error) int {
	var answer *awshttp.ResponseError
	if errors.As(err, &answer) && answer.Response != nil {
		return answer.HTTPStatusCode()
	}
	return 0
}

// Code is what the service calls the error; "" where it gives no name.
func Code(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

// Hint is what to try, whatever the service; "" where nothing is known. credentials and
// server are added to the hints about them: what else helps with this service.
func Hint(err error, credentials, server string) string {
	var signing *v4.SigningError
	var network net.Error
	switch Code(err) {
	case "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken",
		"UnrecognizedClientException", "InvalidSignatureException", "ExpiredTokenException":
		return "the credentials of this process are wrong or have expired: " +
			"look at AWS_ACCESS_KEY_ID, AWS_PROFILE or the role of the machine"
	case "RequestTimeTooSkewed":
		return "the clock of this machine is wrong"
	}
	switch {
	case errors.As(err, &signing), strings.Contains(err.Error(), "get identity: "): // the SDK has no type for it
		return "this process has no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE or a role" +
			credentials
	case errors.As(err, &network) && !errors.Is(err, context.Canceled):
		return "look whether the endpoint is right and reached from here" + server
	}
	return ""
}
