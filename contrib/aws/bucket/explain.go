package bucket

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// service is where requests go.
type service struct {
	client *s3.Client
	config Config
}

// explain says what was being done, where, and what to try.
func (s service) explain(doing, bucket string, err error) error {
	where := "AWS in " + s.client.Options().Region
	if s.config.Endpoint != "" {
		where = s.config.Endpoint
	}
	err = fmt.Errorf("%s at %s: %w", doing, where, err)
	if hint := s.hint(bucket, err); hint != "" {
		return fmt.Errorf("%w: %s", err, hint)
	}
	return err
}

// status is that of the answer, 0 where none came.
func status(err error) int {
	var answer *awshttp.ResponseError
	if errors.As(err, &answer) && answer.Response != nil {
		return answer.HTTPStatusCode()
	}
	return 0
}

func code(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

// hint is what to try; "" where nothing is known.
func (s service) hint(bucket string, err error) string {
	var signing *v4.SigningError
	var network net.Error
	switch c := code(err); {
	case c == "NoSuchBucket":
		return "create the bucket " + bucket + ", or correct the task's partitions; buckets of another account or gateway need its endpoint"
	case otherRegion(err) != "":
		return "the bucket " + bucket + " is in " + otherRegion(err) + ": set region in the task's config"
	case c == "PermanentRedirect" || c == "AuthorizationHeaderMalformed" || status(err) == http.StatusMovedPermanently:
		return "the bucket is in another region: set region in the task's config"
	case c == "InvalidAccessKeyId" || c == "SignatureDoesNotMatch" || c == "ExpiredToken" || c == "InvalidToken":
		return "the credentials of this process are wrong or have expired: look at AWS_ACCESS_KEY_ID, AWS_PROFILE or the role of the machine"
	case c == "RequestTimeTooSkewed":
		return "the clock of this machine is wrong"
	case c == "InvalidObjectState":
		return "the object is archived: restore it first"
	case status(err) == http.StatusForbidden:
		return "allow this process s3:ListBucket on the bucket " + bucket + " and s3:GetObject on its objects (s3:PutObject for marks, s3:DeleteObject to delete)"
	case errors.As(err, &signing), strings.Contains(err.Error(), "get identity: "): // the SDK has no type for it
		return "this process has no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE or a role; or anonymous in the task's config"
	case errors.As(err, &network) && !errors.Is(err, context.Canceled):
		return "look whether the endpoint is right and reached from here; gateways often want path_style"
	}
	return ""
}

// otherRegion is where the bucket is, if the answer says that it is elsewhere.
func otherRegion(err error) string {
	var answer *awshttp.ResponseError
	if !errors.As(err, &answer) || answer.Response == nil || answer.HTTPStatusCode() < 300 {
		return ""
	}
	if c := answer.HTTPStatusCode(); c != http.StatusMovedPermanently && c != http.StatusBadRequest && c != http.StatusTemporaryRedirect {
		return ""
	}
	return answer.Response.Header.Get("X-Amz-Bucket-Region")
}
