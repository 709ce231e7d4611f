package elastic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/rota-run/rota/store"
)

// fake answers requests in the place of servers: each answer is for the next request that its path begins like. It is one for a request that must not come.
type fake struct {
	t       *testing.T
	answers []fakeAnswer
	got     []string // method, path without its query, and what of the query matters
}

type fakeAnswer struct {
	verb   string // part of the request's path that it is for
	status int
	body   string
	err    error // instead: the connection broke after the request was sent
}

func (f *fake) RoundTrip(r *http.Request) (*http.Response, error) {
	f.got = append(f.got, r.Method+" "+r.URL.RequestURI())
	if len(f.answers) == 0 || !strings.Contains(r.URL.Path, f.answers[0].verb) {
		f.t.Errorf("a request that nobody expects: %s; next is %+v", f.got[len(f.got)-1], f.answers)
		return nil, errors.New("unexpected")
	}
	a := f.answers[0]
	f.answers = f.answers[1:]
	if a.err != nil {
		return nil, a.err
	}
	return &http.Response{StatusCode: a.status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(a.body)), Request: r}, nil
}

// handle is a handle whose server gives these answers, and no other ones.
func handle(t *testing.T, answers ...fakeAnswer) (*Store, *fake) {
	t.Helper()
	o, err := Options{Servers: []string{"s"}}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	s, f := newStore(o), &fake{t: t, answers: answers}
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

// there is an answer to a look at one document.
func there(d store.Doc, by string, seq, term int64) fakeAnswer {
	text, err := encode(d, by, false)
	if err != nil {
		panic(err)
	}
	return fakeAnswer{verb: "_mget", status: 200, body: fmt.Sprintf(`{"docs":[{"_id":%q,"found":true,"_seq_no":%d,"_primary_term":%d,"_source":%s}]}`, d.Key, seq, term, text)}
}

func gone(key string) fakeAnswer {
	return fakeAnswer{verb: "_mget", status: 200, body: fmt.Sprintf(`{"docs":[{"_id":%q,"found":false}]}`, key)}
}

// stats is an answer about the copies of the shard: the state and the global checkpoint of each.
func stats(failed int, copies ...string) fakeAnswer {
	var all []string
	for i, c := range copies {
		state, checkpoint, _ := strings.Cut(c, " ")
		all = append(all, fmt.Sprintf(`{"routing":{"state":%q,"node":"n%d","primary":%t},"seq_no":{"global_checkpoint":%s}}`, state, i, i == 0, checkpoint))
	}
	return fakeAnswer{verb: "_stats", status: 200, body: fmt.Sprintf(`{"_shards":{"failed":%d},"indices":{"rota":{"shards":{"0":[%s]}}}}`, failed, strings.Join(all, ","))}
}

func says(verb string, status int, kind string) fakeAnswer {
	return fakeAnswer{verb: verb, status: status, body: fmt.Sprintf(`{"error":{"type":%q,"reason":"why"},"status":%d}`, kind, status)}
}

// wrote is the answer to a write.
func wroteAt(verb string, seq, term int64) fakeAnswer {
	b, _ := json.Marshal(map[string]int64{"_seq_no": seq, "_primary_term": term}) // numbers
	return fakeAnswer{verb: verb, status: 201, body: string(b)}
}

var (
	background = context.Background()
	doc        = store.Doc{Key: "a", Value: []byte(`{"x":1}`)}
	conflict   = "version_conflict_engine_exception"
)
