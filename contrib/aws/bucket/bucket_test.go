package bucket_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/rota-run/rota/contrib/aws/bucket"
	"github.com/rota-run/rota/internal/proof/must"
)

// Names with all that S3 allows, in two places of two buckets, more than a window and more than a page of the window.
func TestEachObjectIsTakenOnce(t *testing.T) {
	b := setup(t, "logs", "media")
	var want []string
	put := func(in, name string) {
		b.put(in, name, "of "+in)
		want = append(want, name+" of "+in)
	}
	for i := range 150 {
		put("logs", fmt.Sprintf("2026/%04d.gz", i))
		put("media", fmt.Sprintf("2026/%04d.gz", i)) // the same names
	}
	b.put("logs", "2025/old", "not wanted")
	for _, odd := range []string{"2026/", "2026/a b+c%20&=?#.txt", "2026/ü\u2028", "2026/..", "2026//x",
		"2026/tab\there", "2026/" + strings.Repeat("y", 1000), "2026/" + strings.Repeat("%", 1000)} {
		put("logs", odd)
	}
	b.run(b.config(), b.objects(nil), "s3://logs/2026/", "s3://media/")
	b.once(want...)
}

func TestAnEmptyBucketIsDone(t *testing.T) {
	b := setup(t, "logs")
	b.run(b.config(), b.objects(nil), "s3://logs/")
	b.once()
	if _, n := b.counts(); n != 1 {
		t.Errorf("%d requests were made to list nothing", n)
	}
}

// An object that is deleted, and one that is changed, between the listing and the run.
func TestObjectsChangeAfterTheListing(t *testing.T) {
	b := setup(t, "logs")
	was := b.put("logs", "a", "one")
	b.put("logs", "b", "one")
	b.put("logs", "c", "one")
	o := b.objects(func(o bucket.Object) error {
		switch o.Name {
		case "a": // the only one that runs: the others wait
			if _, err := b.client.DeleteObject(b.ctx,
				&s3.DeleteObjectInput{Bucket: &o.Bucket, Key: new("b")}); err != nil {
				return err
			}
			b.put("logs", "c", "two")
		case "c":
			if o.Listed != was || o.ETag == o.Listed {
				t.Errorf("it was listed as %s and is %s", o.Listed, o.ETag)
			}
		}
		return nil
	})
	o.MaxConcurrent = 1
	b.tamper = func(w http.ResponseWriter, r *http.Request) bool { return r.Method == http.MethodGet && b.later(w, r) }
	b.run(b.config(), o, "s3://logs/")
	b.once("a one", "c two")
	if !strings.Contains(b.logs.String(), "s3://logs/b") {
		t.Error("the object that is gone was not logged")
	}
}

// later sends those who ask for b or c before a was taken away, for the SDK to try again.
func (b *bed) later(w http.ResponseWriter, r *http.Request) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.taken) == 0 && (r.URL.Path == "/logs/b" || r.URL.Path == "/logs/c") {
		http.Error(w, "", http.StatusServiceUnavailable)
		return true
	}
	return false
}

// Names that come behind are found; a quiet bucket costs a request for each look, and nothing in the cluster.
func TestNewNamesAreFound(t *testing.T) {
	b := setup(t, "logs")
	b.put("logs", "2026-01", "x")
	m := b.join("a", bucket.NewType("objects", b.objects(nil)))
	c := b.config()
	c.Follow = bucket.Names
	b.submit(m, c, "s3://logs/")
	b.await("the first is taken", func() bool { return len(b.taken) == 1 })
	quiet(b, func() uint64 { return m.Value().Applied() })
	b.put("logs", "2026-02", "x")
	b.await("the second is taken", func() bool { return len(b.taken) == 2 })
	b.once("2026-01 x", "2026-02 x")
}

// quiet checks that ten looks at the bucket write nothing into the cluster, once all that was going on is settled.
func quiet(b *bed, applied func() uint64) {
	b.t.Helper()
	for range 20 {
		before, looks := applied(), 0
		b.await("it is looked at", func() bool { looks = b.requests["LIST"]; return true })
		b.await("ten looks", func() bool { return b.requests["LIST"] >= looks+10 })
		if applied() == before {
			return
		}
	}
	b.t.Error("looks at a quiet bucket are written into the cluster")
}

// What has a mark is not taken again, by another job either; what is changed is.
func TestMarkedObjectsAreTakenOnce(t *testing.T) {
	b := setup(t, "logs", "done")
	for i := range 50 {
		b.put("logs", fmt.Sprintf("%02d", i), "one")
	}
	m := b.join("a", bucket.NewType("objects", b.objects(nil)))
	c := b.config()
	c.Follow, c.Marks = bucket.Marks, "s3://done/job/"
	b.submit(m, c, "s3://logs/")
	b.await("all are taken", func() bool { return len(b.taken) == 50 })
	quiet(b, func() uint64 { return m.Value().Applied() })
	b.put("logs", "07", "two")
	b.put("logs", "01a", "new")
	b.await("what is new is taken", func() bool { return len(b.taken) == 52 })
	b.await("52 objects are marked, 2 buckets and 52 objects made", func() bool { return b.requests["PUT"] >= 106 })
	must.Succeed(t, m.Kill(b.ctx, "job"))
	b.put("logs", "99", "last")
	must.Succeed(t, m.Submit(b.ctx, "again", bucket.Task("objects", c, "s3://logs/")))
	b.await("the last is taken", func() bool { return len(b.taken) == 53 })
	quiet(b, func() uint64 { return m.Value().Applied() })
	if got := b.taken[50:]; fmt.Sprint(got[2]) != "99 last" {
		t.Errorf("got %q", got)
	}
}

// What is done is deleted, but not what has come in its place meanwhile. What comes again is taken again, also within
// the second by which S3 tells versions with the same content apart.
func TestDoneObjectsAreDeleted(t *testing.T) {
	b := setup(t, "logs")
	b.tamper = b.dated("2020-01-01T00:00:00Z", "2020-01-01T00:00:00Z")
	for i := range 30 {
		b.put("logs", fmt.Sprintf("%02d", i), "one")
	}
	m := b.join("a", bucket.NewType("objects", b.objects(func(o bucket.Object) error {
		if o.Name == "05" && o.Listed == o.ETag && o.Size == 3 {
			b.put("logs", "05", "later") // while it is being taken
		}
		return nil
	})))
	c := b.config()
	c.Follow = bucket.Delete
	b.submit(m, c, "s3://logs/")
	b.await("all are taken, 05 twice", func() bool { return len(b.taken) == 31 })
	b.awaitFree("the bucket is empty", func() bool {
		out, err := b.client.ListObjectsV2(b.ctx, &s3.ListObjectsV2Input{Bucket: new("logs")})
		return err == nil && len(out.Contents) == 0
	})
	quiet(b, func() uint64 { return m.Value().Applied() })
	b.put("logs", "05", "later") // as it was
	b.await("it is taken again", func() bool { return len(b.taken) == 32 })
}

// dated shows all objects, and all marks, with the same date.
func (b *bed) dated(objects, marks string) func(http.ResponseWriter, *http.Request) bool {
	modified := regexp.MustCompile("<LastModified>[^<]*")
	return func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet || !r.URL.Query().Has("list-type") {
			return false
		}
		date := objects
		if strings.HasPrefix(r.URL.Path, "/done") {
			date = marks
		}
		rec := httptest.NewRecorder()
		b.gateway.ServeHTTP(rec, r)
		fmt.Fprint(w, modified.ReplaceAllString(rec.Body.String(), "<LastModified>"+date))
		return true
	}
}

// counts are requests so far.
func (b *bed) counts() (gets, looks int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.requests["GET"], b.requests["LIST"]
}

// A mark of the same second as its object tells by its content whether it is of this version.
func TestAMarkOfTheSameSecond(t *testing.T) {
	b := setup(t, "logs", "done")
	b.put("logs", "a", "one")
	b.tamper = b.dated("2020-01-01T00:00:00Z", "2020-01-01T00:00:00Z")
	m := b.join("a", bucket.NewType("objects", b.objects(nil)))
	c := b.config()
	c.Follow, c.Marks = bucket.Marks, "s3://done/"
	b.submit(m, c, "s3://logs/")
	b.await("it is taken and marked", func() bool { return b.requests["PUT"] >= 4 && b.requests["HEAD"] >= 1 })
	must.Succeed(t, m.Kill(b.ctx, "job"))
	gets, _ := b.counts()
	must.Succeed(t, m.Submit(b.ctx, "again", bucket.Task("objects", c, "s3://logs/")))
	b.await("the mark is read again", func() bool { return b.requests["GET"] > gets })
	quiet(b, func() uint64 { return m.Value().Applied() })
	gets, looks := b.counts()
	b.await("ten more looks", func() bool { return b.requests["LIST"] >= looks+10 })
	if again, _ := b.counts(); again != gets {
		t.Errorf("%d marks were read in ten looks at what was known", again-gets)
	}
	b.once("a one")
	b.put("logs", "a", "two") // in the same second
	b.await("it is taken again", func() bool { return len(b.taken) == 2 })
}

// A change that comes while an object is taken, before its mark, is not hidden by the mark, however old its date is.
func TestAChangeWhileTakenIsNoticed(t *testing.T) {
	b := setup(t, "logs", "done")
	b.put("logs", "a", "one")
	var changed atomic.Bool
	m := b.join("a", bucket.NewType("objects", b.objects(func(o bucket.Object) error {
		if !changed.Swap(true) {
			b.put("logs", "a", "two")
		}
		return nil
	})))
	b.tamper = b.dated("2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z") // as a multipart upload may be
	c := b.config()
	c.Follow, c.Marks = bucket.Marks, "s3://done/"
	b.submit(m, c, "s3://logs/")
	b.await("both are taken", func() bool { return len(b.taken) >= 2 })
	quiet(b, func() uint64 { return m.Value().Applied() })
	b.once("a one", "a two")
}

// An object that takes long is seen by each look at its bucket, and is not written into the cluster again each time.
func TestALookPassesOverWhatIsBeingTaken(t *testing.T) {
	b := setup(t, "logs", "done")
	b.put("logs", "a", "slow")
	release := make(chan struct{})
	m := b.join("a", bucket.NewType("objects", b.objects(func(bucket.Object) error {
		select {
		case <-release:
		case <-b.ctx.Done():
		}
		return nil
	})))
	c := b.config()
	c.Follow, c.Marks = bucket.Marks, "s3://done/"
	b.submit(m, c, "s3://logs/")
	b.await("it is being taken", func() bool { return b.requests["GET"] > 0 })
	quiet(b, func() uint64 { return m.Value().Applied() })
	close(release)
	b.await("it is taken", func() bool { return len(b.taken) == 1 })
	quiet(b, func() uint64 { return m.Value().Applied() })
	b.once("a slow")
}
