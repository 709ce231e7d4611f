package bucket_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/rota-run/rota/contrib/aws/bucket"
)

// once is the SDK without its own second tries.
func once(o *bucket.Objects) {
	o.Options = append(o.Options, func(o *s3.Options) { o.RetryMaxAttempts = 1 })
}

// What is wrong is said, with where, and what to try, and without secrets.
func TestErrorsSayWhatToTry(t *testing.T) {
	answer := func(status int, code string, header ...string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.Header().Set("Content-Type", "application/xml")
			w.WriteHeader(status)
			fmt.Fprintf(w, "<Error><Code>%s</Code><Message>no</Message></Error>", code)
			return true
		}
	}
	for name, c := range map[string]struct {
		tamper func(http.ResponseWriter, *http.Request) bool
		change func(*bucket.Config, *bucket.Objects)
		place  string
		words  []string
	}{
		"no bucket": {place: "s3://nowhere/",
			words: []string{"list s3://nowhere/ at http://127.0.0.1", "NoSuchBucket", "create the bucket nowhere"}},
		"no permission": {tamper: answer(403, "AccessDenied"),
			words: []string{"AccessDenied", "s3:ListBucket on the bucket logs"}},
		"a wrong key": {tamper: answer(403, "InvalidAccessKeyId"),
			words: []string{"credentials of this process are wrong"}},
		"another region": {tamper: answer(301, "PermanentRedirect", "X-Amz-Bucket-Region", "eu-north-1"),
			words: []string{"is in eu-north-1: set region"}},
		"a wrong clock": {tamper: answer(403, "RequestTimeTooSkewed"),
			words: []string{"the clock of this machine is wrong"}},
		"no endpoint": {change: func(c *bucket.Config, _ *bucket.Objects) { c.Endpoint = "http://127.0.0.1:1" },
			words: []string{"list s3://logs/ at http://127.0.0.1:1", "connection refused",
				"look whether the endpoint is right"}},
		"no region": {change: func(c *bucket.Config, o *bucket.Objects) {
			c.Endpoint = ""
			o.Load = append(o.Load, config.WithRegion(""))
		}, words: []string{"no region is known: set region in the task's config, or AWS_REGION"}},
		"no credentials": {change: func(_ *bucket.Config, o *bucket.Objects) {
			o.Load = append(o.Load, config.WithCredentialsProvider(aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
				return aws.Credentials{}, fmt.Errorf("none found")
			})))
		}, words: []string{"this process has no credentials"}},
		"no place": {place: "logs", words: []string{`"logs" is no place in a bucket: want s3://bucket/`}},
		"marks inside": {change: func(c *bucket.Config, _ *bucket.Objects) {
			c.Follow, c.Marks = bucket.Marks, "s3://logs/done/"
		}, words: []string{"the marks in s3://logs/done/ would be listed"}},
		"no order": {tamper: func(w http.ResponseWriter, r *http.Request) bool {
			fmt.Fprint(w, `<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>b</Key></Contents><Contents><Key>a</Key></Contents></ListBucketResult>`)
			return true
		}, words: []string{"do not come in ascending order"}},
		"nothing, and more": {tamper: func(w http.ResponseWriter, r *http.Request) bool {
			fmt.Fprint(w, `<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>`)
			return true
		}, words: []string{"shows nothing and says that more comes"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := setup(t, "logs")
			o, conf, place := b.objects(nil), b.config(), "s3://logs/"
			once(&o)
			if c.change != nil {
				c.change(&conf, &o)
			}
			if c.place != "" {
				place = c.place
			}
			b.mu.Lock()
			b.tamper = c.tamper
			b.mu.Unlock()
			m := b.join("a", bucket.NewType("objects", o))
			b.submit(m, conf, place)
			if got := b.awaitMessage(m, place, c.words...); strings.Contains(got, "hunter2") {
				t.Errorf("a secret stands in %q", got)
			}
			if strings.Contains(b.logs.String(), "hunter2") {
				t.Error("a secret is logged")
			}
		})
	}
}

// An answer that never comes is not waited for for ever.
func TestAGatewayThatHangs(t *testing.T) {
	b := setup(t, "logs")
	b.put("logs", "a", "x")
	var hung atomic.Bool
	b.tamper = func(_ http.ResponseWriter, r *http.Request) bool {
		if hung.Swap(true) {
			return false
		}
		<-r.Context().Done()
		return true
	}
	c := b.config()
	c.Stall = 100_000_000
	began := time.Now()
	b.run(c, b.objects(nil), "s3://logs/")
	b.once("a x")
	t.Logf("took %v", time.Since(began))
}
