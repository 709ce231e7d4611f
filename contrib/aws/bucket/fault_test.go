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
	"github.com/rota-run/rota/internal/proof/must"
)

// once is the SDK without its own second tries.
func once(o *bucket.Objects) {
	o.Options = append(o.Options, func(o *s3.Options) { o.RetryMaxAttempts = 1 })
}

// cutting answers requests for an object up to a number of bytes, and then cuts the connection or lets it hang.
type cutting struct {
	bed   *bed
	cuts  atomic.Int64 // how many are left
	hang  bool
	after func()
}

func (c *cutting) answer(w http.ResponseWriter, r *http.Request, content, etag string) {
	from := 0
	if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from); err == nil {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(content)-1, len(content)))
	}
	if m := r.Header.Get("If-Match"); m != "" && m != etag {
		w.WriteHeader(http.StatusPreconditionFailed)
		return
	}
	rest := content[from:]
	w.Header().Set("Content-Length", fmt.Sprint(len(rest)))
	w.Header().Set("ETag", etag)
	if from > 0 {
		w.WriteHeader(http.StatusPartialContent)
	}
	if c.cuts.Add(-1) < 0 {
		_, _ = w.Write([]byte(rest))
		return
	}
	_, _ = w.Write([]byte(rest[:len(rest)/3]))
	_ = http.NewResponseController(w).Flush()
	if c.after != nil {
		c.after()
	}
	if c.hang {
		<-r.Context().Done()
		return
	}
	panic(http.ErrAbortHandler)
}

// A connection that breaks, or brings nothing any more, is taken up where it broke.
func TestAStreamGoesOnWhereItWasCut(t *testing.T) {
	for name, hang := range map[string]bool{"cut": false, "hanging": true} {
		t.Run(name, func(t *testing.T) {
			b := setup(t, "logs")
			content := strings.Repeat("0123456789", 10_000)
			b.put("logs", "a", content)
			c := &cutting{bed: b, hang: hang}
			c.cuts.Store(4)
			b.tamper = func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method != http.MethodGet || r.URL.Path != "/logs/a" {
					return false
				}
				c.answer(w, r, content, `"v1"`)
				return true
			}
			o := b.objects(nil)
			once(&o)
			conf := b.config()
			if hang {
				conf.Stall = 500_000_000
			}
			b.run(conf, o, "s3://logs/")
			b.once("a " + content)
			if left := c.cuts.Load(); left >= 0 { // on a busy machine an answer that comes may be given up too, and is taken up again
				t.Errorf("%d cuts are left", left)
			}
		})
	}
}

// Halves of two versions are never put together.
func TestAStreamIsOfOneVersion(t *testing.T) {
	b := setup(t, "logs")
	b.put("logs", "a", "x")
	contents := []string{strings.Repeat("1", 3000), strings.Repeat("2", 3000)}
	var version atomic.Int64
	seen := make(chan struct{}) // closed when it was seen that the first run has failed: when the next one has ended well nothing tells of it any more
	c := &cutting{bed: b, after: func() { version.Store(1) }}
	c.cuts.Store(1)
	b.tamper = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet || r.URL.Path != "/logs/a" {
			return false
		}
		v := version.Load()
		if v == 1 && r.Header.Get("Range") == "" {
			select {
			case <-seen:
			case <-r.Context().Done():
			}
		}
		c.answer(w, r, contents[v], fmt.Sprintf(`"v%d"`, v))
		return true
	}
	o := b.objects(nil)
	once(&o)
	m := b.join("a", bucket.NewType("objects", o))
	b.submit(m, b.config(), "s3://logs/")
	b.awaitMessage(m, "logs/a", bucket.ErrChanged.Error())
	close(seen)
	must.Succeed(t, m.Wait(b.ctx, "job"))
	b.once("a " + contents[1])
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
