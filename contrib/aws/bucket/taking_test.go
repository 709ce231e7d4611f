package bucket

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/logging"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/work"
	"github.com/rota-run/rota/work/worktest"
)

// answers are those of a gateway, in order.
type answers []http.HandlerFunc

// answering is a gateway that answers its first, its second request, and so on, with what a test says.
func answering(t *testing.T, c Config, list ...http.HandlerFunc) (s service, asked *atomic.Int64) {
	t.Helper()
	asked = new(atomic.Int64)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := int(asked.Add(1))
		if n > len(list) {
			t.Errorf("request %d: %s %s", n, r.Method, r.URL)
			return
		}
		w.Header().Set("ETag", `"v1"`)
		list[n-1](w, r)
	}))
	t.Cleanup(server.Close)
	client := s3.New(s3.Options{BaseEndpoint: &server.URL, UsePathStyle: true, Region: "us-east-1",
		Credentials: aws.AnonymousCredentials{}, Logger: logging.Nop{}, RetryMaxAttempts: 1})
	return service{config: c.withDefaults(), client: client}, asked
}

// status answers with a code alone, to a request of a method that has a condition.
func status(t *testing.T, code int, method, header, want string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != method || r.Header.Get(header) != want {
			t.Errorf("got %s with %s: %q, want %s with %q", r.Method, header, r.Header.Get(header), method, want)
		}
		w.WriteHeader(code)
	}
}

// bytesOf answers with some bytes of an object of n, and breaks the connection where more should come.
func bytesOf(content string, from, to int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(len(content)-from))
		if from > 0 {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(content)-1, len(content)))
			w.WriteHeader(http.StatusPartialContent)
		}
		_, _ = io.WriteString(w, content[from:to])
		if to < len(content) {
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	}
}

// TestBreaks: an object is read on as long as each connection brings something, and only if it is the same.
func TestBreaks(t *testing.T) {
	t.Parallel()
	content := strings.Repeat("0123456789", 10_000)
	part, whole := bytesOf(content, 0, 9), bytesOf(content, 0, len(content))
	gone, changed := status(t, 404, "GET", "If-Match", `"v1"`), status(t, 412, "GET", "If-Match", `"v1"`)
	hangs := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		_, _ = io.WriteString(w, content[:9])
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
	const stall = 2 * time.Second // far beyond what an answer takes here
	var oneByOne answers
	for i := range maxCuts + 2 {
		oneByOne = append(oneByOne, bytesOf(content, i, i+1))
	}
	for name, c := range map[string]struct { // order-free: each has a gateway of its own
		answers
		stall time.Duration
		slow  bool
		err   error
	}{
		"more breaks than in a row": {answers: append(oneByOne, bytesOf(content, maxCuts+2, len(content)))},
		"a gateway without ranges":  {answers: answers{part, whole}, err: ErrChanged},
		"it is deleted":             {answers: answers{part, gone}, err: ErrChanged},
		"it is changed":             {answers: answers{part, changed}, err: ErrChanged},
		"a connection hangs":        {answers: answers{hangs, bytesOf(content, 9, len(content))}, stall: stall},
		"it is read slowly":         {answers: answers{whole}, stall: stall, slow: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			svc, asked := answering(t, Config{Stall: work.Duration(c.stall)}, c.answers...)
			s := &stream{service: svc, at: place{"logs", "a"}, ctx: t.Context()}
			o := must.Get(s.open())(t)
			defer s.close()
			first := make([]byte, 1)
			must.Succeed(t, must.Err(io.ReadFull(o.Body, first)))
			if c.slow {
				time.Sleep(c.stall * 5 / 4) // waits: this is how slowly it is read
			}
			rest, err := io.ReadAll(o.Body)
			if !errors.Is(err, c.err) || err == nil && string(first)+string(rest) != content {
				t.Errorf("read %d bytes, %v", 1+len(rest), err)
			}
			if n := int(asked.Load()); n != len(c.answers) {
				t.Errorf("%d requests, want %d", n, len(c.answers))
			}
		})
	}
}

// TestWhatComesAfterAnObjectWasTaken: nothing without a lease, and else on the condition that it is still the same, or
// that nobody has written the mark meanwhile.
func TestWhatComesAfterAnObjectWasTaken(t *testing.T) {
	t.Parallel()
	whole, head := bytesOf("x", 0, 1), status(t, 200, "HEAD", "If-Match", "")
	none := status(t, 404, "GET", "If-Match", "")
	mark := func(etag string, token int) http.HandlerFunc {
		text := fmt.Sprintf(`{"etag":%q,"token":%d}`, etag, token)
		return bytesOf(text, 0, len(text))
	}
	stale, late, older, ours := work.ErrToken.Error(), mark(`"v0"`, 4), mark(`"v0"`, 2), mark(`"v0"`, 3)
	creates := status(t, 200, "PUT", "If-None-Match", "*")
	replaces := func(code int) http.HandlerFunc { return status(t, code, "PUT", "If-Match", `"v1"`) }
	removes := func(code int) http.HandlerFunc { return status(t, code, "DELETE", "If-Match", `"v1"`) }
	for name, c := range map[string]struct { // order-free: each has a gateway of its own
		follow  Follow
		expired bool
		answers
		want string
	}{
		"the lease is over":             {Marks, true, answers{none, whole}, work.CauseLeaseLost.Error()},
		"it is deleted as it was":       {Delete, false, answers{whole, head, removes(204)}, ""},
		"another one came in its place": {Delete, false, answers{whole, head, removes(412)}, ""},
		"it is marked":                  {Marks, false, answers{none, whole, none, creates, head}, ""},
		"it is marked again":            {Marks, false, answers{ours, whole, ours, replaces(200), head}, ""},
		"a newer mark comes meanwhile":  {Marks, false, answers{older, whole, older, replaces(412), late}, stale},
		"marks come all the time": {Marks, false, answers{older, whole, older, replaces(412), older, replaces(412),
			older, replaces(412), older, replaces(412)}, "others write it all the time"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			svc, asked := answering(t, Config{Follow: c.follow, Marks: "s3://done/"}, c.answers...)
			h := worktest.NewHost()
			g := worktest.NewGrantOf(t, h, "job#logs/a", 3, work.Definition{})
			g.ListedBy, g.Input = "s3://logs/", []byte(`{"name":"a","etag":"\"v1\""}`)
			err := taking{service: svc, grant: g, take: func(context.Context, *rota.Grant, Object) error {
				h.SetValid(!c.expired)
				return nil
			}}.run(t.Context())
			if (err == nil) != (c.want == "") || !strings.Contains(fmt.Sprint(err), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
			if n := int(asked.Load()); n != len(c.answers) {
				t.Errorf("%d requests, want %d", n, len(c.answers))
			}
		})
	}
}

// TestAPage: names are read as they are; the window is read before the page; a step that is full ends with a cursor at
// its last name.
func TestAPage(t *testing.T) {
	t.Parallel()
	names := []string{"a+b c", "b%/ä"}
	for i := range 900 {
		names = append(names, fmt.Sprintf("c%03d%s", i, strings.Repeat("x", 1000)))
	}
	svc, asked := answering(t, Config{Follow: Delete}, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "<ListBucketResult><EncodingType>url</EncodingType>")
		for _, name := range names {
			fmt.Fprintf(w, "<Contents><Key>%s</Key></Contents>", url.QueryEscape(name))
		}
		_, _ = io.WriteString(w, "</ListBucketResult>")
	})
	l := &listing{service: svc, place: place{"logs", ""}, window: func() (work.Window, error) {
		if asked.Load() > 0 {
			t.Error("the window was read after the page, which may list what is done by then")
		}
		return work.Window{}, nil
	}}
	got := must.Get(l.next(t.Context(), nil, maxPage))(t)
	last := len(got.Items) - 1
	if last < 2 || last >= len(names)-1 || string(got.Cursor) != string(cursor{names[last]}.encode()) || got.End {
		t.Fatalf("%d items, cursor %.20s", last+1, got.Cursor)
	}
	for i, item := range got.Items {
		var in listed
		if must.Succeed(t, json.Unmarshal(item.Input, &in)); in.Name != names[i] {
			t.Errorf("%q is read as %q", names[i], in.Name)
		}
	}
}

// TestMarksApart: marks are not where objects are listed, neither below nor above.
func TestMarksApart(t *testing.T) {
	t.Parallel()
	for _, marks := range []string{"s3://logs/", "s3://logs/a/", "s3://logs/a/done/"} {
		g := worktest.NewGrantOf(t, worktest.NewHost(), "job#s3://logs/a/", 3, work.Definition{})
		err := list(t.Context(), g, service{config: Config{Follow: Marks, Marks: marks}})
		if err == nil || !strings.Contains(err.Error(), "put them elsewhere") {
			t.Errorf("marks in %s: %v", marks, err)
		}
	}
}

// TestMarksAreRead: a mark that was read is known as it was, and one that cannot be read fails the look.
func TestMarksAreRead(t *testing.T) {
	t.Parallel()
	object, mark, newer := listed{Name: "a", ETag: "v1"}, listed{Name: "m", ETag: "w1"}, listed{Name: "m", ETag: "w2"}
	p := newProven()
	p.add(object, mark)
	if !p.has(object, mark) || p.has(object, newer) || p.has(newer, mark) {
		t.Error("a mark is known for another one")
	}
	away := errors.New("away")
	err := each(t.Context(), []int{1, 2, 3}, func(_ context.Context, i int) error {
		if i == 2 {
			return away
		}
		return nil
	})
	if !errors.Is(err, away) || bare(`"v1"`) != bare("v1") {
		t.Errorf("got %v", err)
	}
}
