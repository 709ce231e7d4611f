package elastic

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/publish"
	"github.com/rota-run/rota/publish/internal/wiretest"
	"github.com/rota-run/rota/publish/publishtest"
)

type document struct {
	At    int64             `json:"@timestamp"`
	Name  string            `json:"name"`
	Value *float64          `json:"value"`
	Tags  map[string]string `json:"tags"`
}

// documents reads a bulk request.
func documents(t *testing.T, body []byte) (ids []string, docs []document) {
	t.Helper()
	lines := bufio.NewScanner(bytes.NewReader(body))
	for lines.Scan() {
		var action struct {
			Create struct {
				ID string `json:"_id"`
			} `json:"create"`
		}
		var d document
		if err := json.Unmarshal(lines.Bytes(), &action); err != nil || len(action.Create.ID) != 20 {
			t.Errorf("action %s: %v", lines.Bytes(), err)
		}
		lines.Scan()
		if err := json.Unmarshal(lines.Bytes(), &d); err != nil {
			t.Errorf("document %s: %v", lines.Bytes(), err)
		}
		ids, docs = append(ids, action.Create.ID), append(docs, d)
	}
	return ids, docs
}

func TestSuite(t *testing.T) {
	t.Parallel()
	publishtest.Run(t, publishtest.Rig{Open: func(t *testing.T, s *publishtest.Script) publish.Sink {
		sink, err := New(Options{Target: "samples", APIKey: publishtest.Secret,
			Transport: s.Transport(func(r *http.Request, body []byte) (int, []byte) {
				if r.URL.Path != "/samples/_bulk" {
					t.Errorf("path %s", r.URL.Path)
				}
				_, docs := documents(t, body)
				for _, d := range docs {
					s.Take(d.Name, *d.Value)
				}
				return http.StatusOK, []byte(`{"errors":false}`)
			})})
		must.Succeed(t, err)
		return sink
	}})
}

func TestDocuments(t *testing.T) {
	t.Parallel()
	s := publish.Sample{Name: `a"b`, Tags: map[string]string{"z": "1", "a": "x\ny"},
		Points: []publish.Point{{AtMS: 1795190400123, Value: 0.42}, {AtMS: 2, Value: math.NaN()}}}
	got, err := appendSample(nil, s)
	want := `{"create":{"_id":"` + id(s.Series(), 1795190400123) + `"}}
{"@timestamp":1795190400123,"name":"a\"b","value":0.42,"tags":{"a":"x\ny","z":"1"}}
{"create":{"_id":"` + id(s.Series(), 2) + `"}}
{"@timestamp":2,"name":"a\"b","value":null,"tags":{"a":"x\ny","z":"1"}}
`
	if err != nil || string(got) != want {
		t.Errorf("got\n%s%v, want\n%s", got, err, want)
	}
	if got, want := id(`load{"a"="1"}`, 1795190400123), "AaH5r6R7XHVPkocrRtZz"; got != want {
		t.Errorf("the _id of a point changed from %s to %s: what is sent again after an upgrade would be there twice",
			want, got)
	}
	if _, err := appendSample(nil, publish.Sample{Name: "a"}); err == nil {
		t.Error("a sample without points: no error")
	}
}

func FuzzDocuments(f *testing.F) {
	f.Add("a", "k", "v", math.Inf(1))
	f.Add("a\n\"\\", "\x00", "\u2028", -1e300)
	f.Fuzz(func(t *testing.T, name, key, value string, v float64) {
		got, err := appendSample(nil, publish.Sample{Name: name, Tags: map[string]string{key: value},
			Points: []publish.Point{{AtMS: 7, Value: v}}})
		must.Succeed(t, err)
		if bytes.Count(got, []byte("\n")) != 2 {
			t.Fatalf("not two lines: %q", got)
		}
		_, docs := documents(t, got)
		valid := utf8.ValidString(name) && utf8.ValidString(key) && utf8.ValidString(value)
		if d := docs[0]; valid && (d.Name != name || d.Tags[key] != value) {
			t.Errorf("%+v of %q %q %q", d, name, key, value)
		}
	})
}

func TestItemsAreJudgedOneByOne(t *testing.T) {
	t.Parallel()
	point := []publish.Point{{}}
	batch := []publish.Sample{{Name: "ok", Points: point}, {Name: "there", Points: point}, {Name: "bad", Points: point},
		{Name: "full", Points: point}, {Name: "two", Points: make([]publish.Point, 2)}}
	items := func(statuses ...int) []byte {
		var parts []string
		for _, s := range statuses {
			parts = append(parts, fmt.Sprintf(`{"create":{"status":%d,"error":{"type":"t%d","reason":"r"}}}`, s, s))
		}
		return []byte(`{"errors":true,"items":[` + strings.Join(parts, ",") + `]}`)
	}
	say := func(b []byte) string { return string(b) }
	for name, c := range map[string]struct {
		body    []byte
		refused int
		retry   []string
		text    string
		login   bool
	}{
		"all well":           {[]byte(`{"errors":false}`), 0, nil, "", false},
		"one of each":        {items(201, 409, 400, 429, 403, 503), 1, []string{"full", "two"}, "503", false},
		"busy, then refused": {items(201, 201, 201, 201, 503, 400), 0, []string{"two"}, "t400: r", false},
		"refused in part":    {items(201, 201, 201, 201, 201, 400), 1, nil, "t400: r", false},
		"too few items":      {items(201, 400), 0, []string{"ok", "there", "bad", "full", "two"}, "number of items", false},
		"too many items": {items(201, 201, 201, 201, 201, 201, 400), 0, []string{"ok", "there", "bad", "full", "two"},
			"number of items", false},
		"not a bulk answer":  {[]byte("<html>"), 0, []string{"ok", "there", "bad", "full", "two"}, "<html>", false},
		"errors, but no one": {items(201, 201, 201, 201, 201, 409), 0, nil, "", true},
		"one right is lost":  {items(400, 403, 403, 403, 403, 403), 5, nil, "403", false},
		"no right":           {items(403, 403, 403, 403, 403, 403), 5, nil, "403", true},
	} {
		out := judge(batch, c.body, say)
		var again []string
		for _, s := range out.Retry {
			again = append(again, s.Name)
		}
		if out.Login != c.login || out.Refused != c.refused || fmt.Sprint(again) != fmt.Sprint(c.retry) ||
			(c.text == "") != (out.Err == nil) || c.text != "" && !strings.Contains(out.Err.Error(), c.text) {
			t.Errorf("%s: %+v", name, out)
		}
	}
}

// TestErrorsAreAskedFor: only where a document was not taken the request is repeated, for an answer about each.
func TestErrorsAreAskedFor(t *testing.T) {
	t.Parallel()
	var asked []string
	answers := []string{
		`{"errors":false}`, `{"errors":true}`, `{"errors":true,"items":[{"create":{"status":409}},{"create":{"status":400,"error":{"type":"t","reason":"r"}}}]}`,
		`{"errors":true}`, "",
	}
	s, err := New(Options{Target: "samples", Transport: wiretest.RoundTrip(func(r *http.Request) (*http.Response, error) {
		body, status := answers[len(asked)], http.StatusOK
		if asked = append(asked, r.URL.RawQuery); body == "" {
			status = http.StatusForbidden
		}
		return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
	})})
	must.Succeed(t, err)
	batch := []publish.Sample{{Name: "a", Points: []publish.Point{{AtMS: 1}}},
		{Name: "b", Points: []publish.Point{{AtMS: 1}}}}
	if out := s.Send(t.Context(), batch); out.Err != nil || len(asked) != 1 {
		t.Errorf("%+v after %v", out, asked)
	}
	if out := s.Send(t.Context(), append(batch, publish.Sample{Name: "without points"})); out.Refused != 2 ||
		len(out.Retry) > 0 || len(asked) != 3 || !strings.Contains(asked[2], "items") {
		t.Errorf("%+v after %v", out, asked)
	}
	if out := s.Send(t.Context(), batch); !out.Login || out.Refused != 2 { // the right was lost in between
		t.Errorf("%+v after %v", out, asked)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "Samples", "a/b", "_bulk", "a b", "-x"} {
		if _, err := New(Options{Target: name}); err == nil {
			t.Errorf("%q: no error", name)
		}
	}
}
