package elastic

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store/driver"
)

// fake answers requests in the place of servers: each answer is for the next request that its path begins like. It is
// one for a request that must not come.
type fake struct {
	t       *testing.T
	answers []fakeAnswer
	got     []string // method, path without its query, and what of the query matters
	hosts   string   // whom they went to, each with one letter
	during  func(host string)
}

type fakeAnswer struct {
	verb   string // part of the request's path that it is for
	status int
	body   string
	err    error // instead; behind the body where there is a status: the connection broke
}

func (f *fake) RoundTrip(r *http.Request) (*http.Response, error) {
	f.got, f.hosts = append(f.got, r.Method+" "+r.URL.RequestURI()), f.hosts+r.URL.Host
	if f.during != nil {
		f.during(r.URL.Host)
	}
	if len(f.answers) == 0 || !strings.Contains(r.URL.Path, f.answers[0].verb) {
		f.t.Errorf("a request that nobody expects: %s; next is %+v", f.got[len(f.got)-1], f.answers)
		return nil, errors.New("unexpected")
	}
	a := f.answers[0]
	f.answers = f.answers[1:]
	if a.status == 0 {
		return nil, a.err
	}
	body := io.MultiReader(strings.NewReader(a.body), iotest.ErrReader(cmp.Or(a.err, io.EOF)))
	return &http.Response{StatusCode: a.status, Header: http.Header{"Location": {"http://elsewhere/"}},
		Body: io.NopCloser(body), Request: r}, nil
}

// handle is a handle whose server gives these answers, and no other ones.
func handle(t *testing.T, answers ...fakeAnswer) (*conn, *fake) {
	t.Helper()
	o := must.Get(Options{Servers: []string{"s"}}.withDefaults())(t)
	s, f := newConn(o), &fake{t: t, answers: answers}
	s.client.Transport = f
	s.settling.who = "n0 true"
	t.Cleanup(func() {
		s.Close()
		if len(f.answers) > 0 && !t.Failed() {
			t.Errorf("requests that did not come: %+v; came: %q", f.answers, f.got)
		}
	})
	return s, f
}

// there is an answer to a look at one row.
func there(op driver.Op, seq, term int64) fakeAnswer {
	text, err := encode(op, false)
	if err != nil {
		panic(err)
	}
	body := fmt.Sprintf(`{"docs":[{"_id":%q,"found":true,"_seq_no":%d,"_primary_term":%d,"_source":%s}]}`, idOf(op.Key),
		seq, term, text)
	return fakeAnswer{verb: "_mget", status: 200, body: body}
}

func gone(key string) fakeAnswer {
	return fakeAnswer{verb: "_mget", status: 200, body: fmt.Sprintf(`{"docs":[{"_id":%q,"found":false}]}`, idOf(key))}
}

// stats is an answer about the copies of the shard: the state and the global checkpoint of each.
func stats(failed int, copies ...string) fakeAnswer {
	var all []string
	for i, c := range copies {
		state, checkpoint, _ := strings.Cut(c, " ")
		all = append(all, fmt.Sprintf(`{"routing":{"state":%q,"node":"n%d","primary":%t},"seq_no":{"global_checkpoint":%s}}`, state, i, i == 0, checkpoint))
	}
	return fakeAnswer{verb: "_stats", status: 200,
		body: fmt.Sprintf(`{"_shards":{"failed":%d},"indices":{"rota":{"shards":{"0":[%s]}}}}`, failed,
			strings.Join(all, ","))}
}

func says(verb string, status int, kind string) fakeAnswer {
	return fakeAnswer{verb: verb, status: status, body: fmt.Sprintf(`{"error":{"type":%q,"reason":"why"},"status":%d}`,
		kind, status)}
}

// wrote is the answer to a write.
func wroteAt(verb string, seq, term int64) fakeAnswer {
	b, _ := json.Marshal(map[string]int64{"_seq_no": seq, "_primary_term": term}) // numbers
	return fakeAnswer{verb: verb, status: 201, body: string(b)}
}

var (
	background = context.Background()
	write      = driver.Op{Key: "d/a", Name: "me.1", Value: []byte(`v{"x":1}`)}
	others     = driver.Op{Key: "d/a", Name: "x.9", Value: []byte(`v{"y":2}`)}
	conflict   = "version_conflict_engine_exception"
)
