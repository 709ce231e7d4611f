package bucket

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/logging"

	"github.com/rota-run/rota/contrib/aws/internal/sdk"
	"github.com/rota-run/rota/work"
)

// Config is what all members are told through the task. The zero value is one pass over buckets of AWS in the region of
// the process. Credentials have no place in it: each process finds its own, by the SDK's chain (environment, shared
// files, role of the machine).
type Config struct {
	Region    string `json:"region,omitempty"`     // default: that of the process
	Endpoint  string `json:"endpoint,omitempty"`   // URL of a gateway, "http://minio:9000"; default: AWS
	PathStyle bool   `json:"path_style,omitempty"` // the bucket stands in the path, not in the host's name; most gateways want it
	Anonymous bool   `json:"anonymous,omitempty"`  // ask without credentials
	// Follow is how to go on when all objects were listed; default Once.
	Follow Follow `json:"follow,omitempty"`
	// Marks is where Follow marks puts an object for each one that is done: "s3://bucket/prefix/", outside of what is
	// listed.
	Marks  string        `json:"marks,omitempty"`
	Poll   work.Duration `json:"poll,omitempty"`   // how long to wait before it is looked again for new objects; default 30 s
	Window int           `json:"window,omitempty"` // most objects outstanding; default 256
	// Stall is how long the rest of an object, or an answer, may not come; then it is asked for again. Default 30 s.
	Stall work.Duration `json:"stall,omitempty"`
}

// Follow is how to go on when all objects were listed.
type Follow string

// The choices.
const (
	Once   Follow = "once"   // the task ends when all is done
	Names  Follow = "names"  // objects come whose names sort behind those that were there: dates, counters
	Marks  Follow = "marks"  // look at all again; what is done has a mark, which is older than a changed object
	Delete Follow = "delete" // look at all again; what is done is deleted
)

func (c Config) withDefaults() Config {
	c.Follow = cmp.Or(c.Follow, Once)
	c.Poll = cmp.Or(c.Poll, work.Duration(30*time.Second))
	c.Stall = cmp.Or(c.Stall, work.Duration(30*time.Second))
	c.Window = cmp.Or(c.Window, 256)
	return c
}

// validate tells every fault at once.
func (c Config) validate() error {
	var faults []error
	bad := func(field, hint, format string, args ...any) {
		faults = append(faults, &work.ConfigError{Path: "config." + field, Err: fmt.Errorf(format, args...),
			Hint: hint})
	}
	if c.Endpoint != "" {
		if fault := sdk.EndpointFault(c.Endpoint); fault != "" {
			bad("endpoint", "http://gateway:9000", "%s", fault)
		}
	}
	if !slices.Contains([]Follow{Once, Names, Marks, Delete}, c.Follow) {
		bad("follow", "once, names, marks or delete", "%q is not known", c.Follow)
	}
	switch {
	case (c.Follow == Marks) != (c.Marks != ""):
		bad("marks", "follow: marks and marks: s3://bucket/done/", "marks and follow: marks go together")
	case c.Marks != "":
		if _, err := parsePlace(c.Marks); err != nil {
			bad("marks", "s3://bucket/done/", "%w", err)
		}
	}
	if c.Poll < work.Duration(time.Millisecond) {
		bad("poll", "30s", "%v is too short", time.Duration(c.Poll))
	}
	if c.Stall < work.Duration(time.Millisecond) {
		bad("stall", "30s", "%v is too short", time.Duration(c.Stall))
	}
	if c.Window < 1 || c.Window > work.MaxWindow {
		bad("window", "256", "%d is not between 1 and %d", c.Window, work.MaxWindow)
	}
	if len(faults) == 1 {
		return faults[0]
	}
	return errors.Join(faults...)
}

// place is some objects: those of a bucket whose names begin with a prefix. It is written s3://bucket/prefix.
type place struct{ bucket, prefix string }

func parsePlace(s string) (p place, err error) {
	rest, ok := strings.CutPrefix(s, "s3://")
	bucket, prefix, slash := strings.Cut(rest, "/")
	if !ok || !slash || !validBucket(bucket) {
		return p, fmt.Errorf("%q is no place in a bucket: want s3://bucket/ or s3://bucket/prefix", s)
	}
	return place{bucket, prefix}, nil
}

// validBucket allows what is common to AWS and gateways, and has no byte that would be another part of a URL.
func validBucket(name string) bool {
	if len(name) < 3 || len(name) > 255 {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '.' && r != '_' && r != '-'
	})
}

func (p place) String() string { return "s3://" + p.bucket + "/" + p.prefix }

// holds tells whether all of another place is in this one.
func (p place) holds(q place) bool {
	return p.bucket == q.bucket && strings.HasPrefix(q.prefix, p.prefix)
}

// longestKey bounds keys of items, of 1,024 bytes that they may have.
const longestKey = 900

// itemKey names the item of an object. It begins with the bucket, never with "s3:", so it is never that of a place;
// names that no key may be are escaped, long ones cut and told apart by their digest.
func itemKey(bucket, name string) string {
	key := bucket + "/" + strings.ReplaceAll(url.PathEscape(name), "%2F", "/")
	if len(key) <= longestKey {
		return key
	}
	sum := sha256.Sum256([]byte(name))
	return strings.ToValidUTF8(key[:longestKey-2*len(sum)-3], "") + "..." + hex.EncodeToString(sum[:])
}

// access is what makes a client another one.
type access struct {
	region, endpoint     string
	pathStyle, anonymous bool
	stall                time.Duration
}

// clients are those of one task type in this process, made when they are needed first.
type clients struct {
	load    []func(*config.LoadOptions) error
	options []func(*s3.Options)

	mu   sync.Mutex
	open map[access]*s3.Client
}

func (s *clients) get(ctx context.Context, c Config) (*s3.Client, error) {
	a := access{c.Region, c.Endpoint, c.PathStyle, c.Anonymous, time.Duration(c.Stall)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if client, ok := s.open[a]; ok {
		return client, nil
	}
	client, err := s.make(ctx, a)
	if err != nil {
		return nil, err
	}
	s.open[a] = client
	return client, nil
}

// make asks nobody: the first request does.
func (s *clients) make(ctx context.Context, a access) (*s3.Client, error) {
	conf, err := sdk.Load(ctx, a.region, a.endpoint, a.stall, s.load...)
	if err != nil {
		return nil, err
	}
	if a.anonymous {
		conf.Credentials = aws.AnonymousCredentials{}
	}
	return s3.NewFromConfig(conf, append([]func(*s3.Options){func(o *s3.Options) {
		if a.endpoint != "" {
			o.BaseEndpoint = aws.String(strings.TrimSuffix(a.endpoint, "/"))
		}
		o.UsePathStyle = a.pathStyle
		o.Logger = logging.Nop{} // else it writes to the process's stderr
	}}, s.options...)...), nil
}

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
	case c == "PermanentRedirect" || c == "AuthorizationHeaderMalformed" ||
		sdk.Status(err) == http.StatusMovedPermanently:
		return "the bucket is in another region: set region in the task's config"
	case c == "InvalidObjectState":
		return "the object is archived: restore it first"
	}
	if hint := sdk.Hint(err, "; or anonymous in the task's config", "; gateways often want path_style"); hint != "" ||
		sdk.Status(err) != http.StatusForbidden {
		return hint
	}
	return "allow this process s3:ListBucket on the bucket " + bucket +
		" and s3:GetObject on its objects (s3:PutObject for marks, s3:DeleteObject to delete)"
}

// otherRegion is where the bucket is, if the answer says that it is elsewhere.
func otherRegion(err error) string {
	var answer *awshttp.ResponseError
	if !errors.As(err, &answer) || answer.Response == nil || answer.HTTPStatusCode() < 300 {
		return ""
	}
	if c := answer.HTTPStatusCode(); c != http.StatusMovedPermanently && c != http.StatusBadRequest &&
		c != http.StatusTemporaryRedirect {
		return ""
	}
	return answer.Response.Header.Get("X-Amz-Bucket-Region")
}
