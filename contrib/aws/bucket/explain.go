package bucket

import (
	"errors"
	"fmt"
	"net/http"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/rota-run/rota/contrib/aws/internal/sdk"
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

// hint is what to try; "" where nothing is known.
func (s service) hint(bucket string, err error) string {
	switch c := sdk.Code(err); {
	case c == "NoSuchBucket":
		return "create the bucket " + bucket + ", or correct the task's partitions; buckets of another account or gateway need its endpoint"
	case otherRegion(err) != "":
		return "the bucket " + bucket + " is in " + otherRegion(err) + ": set region in the task's config"
	case c == "PermanentRedirect" || c == "AuthorizationHeaderMalformed" || sdk.Status(err) == http.StatusMovedPermanently:
		return "the bucket is in another region: set region in the task's config"
	case c == "InvalidObjectState":
		return "the object is archived: restore it first"
	}
	if hint := sdk.Hint(err, "; or anonymous in the task's config", "; gateways often want path_style"); hint != "" || sdk.Status(err) != http.StatusForbidden {
		return hint
	}
	return "allow this process s3:ListBucket on the bucket " + bucket + " and s3:GetObject on its objects (s3:PutObject for marks, s3:DeleteObject to delete)"
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
