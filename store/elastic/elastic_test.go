package elastic

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"github.com/rota-run/rota/store"
)

// TestWhatOneCopyHasIsNotReturned: the primary shows a write that another copy has not got yet.
func TestWhatOneCopyHasIsNotReturned(t *testing.T) {
	t.Parallel()
	s, _ := handle(t, there(doc, "x.1", 7, 1), stats(0, "STARTED 7", "STARTED 6"), gone("a"))
	s.settling.who = "n0 true, n1 false"
	if d, err := s.Get(background, "a"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("what was lost is returned: %+v, %v", d, err)
	}
	s, _ = handle(t, there(doc, "x.1", 7, 1), stats(1, "STARTED 7"), there(doc, "x.1", 7, 1), stats(0, "STARTED 7", "INITIALIZING -1"), there(doc, "x.1", 7, 1))
	for range 2 { // the second time it is known
		if d, err := s.Get(background, "a"); err != nil || d.Version != "7.1" {
			t.Errorf("get: %+v, %v", d, err)
		}
	}
}

// TestTheCopyThatWasReadMayBeGone: then the others say nothing of what it had.
func TestTheCopyThatWasReadMayBeGone(t *testing.T) {
	t.Parallel()
	s, _ := handle(t, there(doc, "x.1", 7, 1), stats(0, "STARTED 8"), gone("a"))
	s.settling.who = "n0 false, n1 true"
	if d, err := s.Get(background, "a"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("what was lost is returned: %+v, %v", d, err)
	}
}

// TestACheckpointOfAnotherTerm says nothing of a document that an old primary shows: its number may have been given twice.
func TestACheckpointOfAnotherTerm(t *testing.T) {
	t.Parallel()
	s, _ := handle(t, there(doc, "x.2", 9, 2), stats(0, "STARTED 9"), there(doc, "x.1", 8, 1), stats(0, "STARTED 7"), gone("a"))
	if _, err := s.Get(background, "a"); err != nil {
		t.Fatal(err)
	}
	if d, err := s.Get(background, "a"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("get: %+v, %v", d, err)
	}
}

// TestWhatWasAcknowledgedIsKnown: the handle's own write needs no second look.
func TestWhatWasAcknowledgedIsKnown(t *testing.T) {
	t.Parallel()
	s, _ := handle(t, wroteAt("_create", 3, 1), there(doc, "x.1", 3, 1))
	v, err := s.Put(background, doc)
	if err != nil || v != "3.1" {
		t.Fatalf("put: %s, %v", v, err)
	}
	if _, err := s.Get(background, "a"); err != nil {
		t.Error(err)
	}
}

func TestConflicts(t *testing.T) {
	t.Parallel()
	other := store.Doc{Key: "a", Value: []byte(`{"y":2}`)}
	update := doc
	update.Version = "3.1"
	for name, c := range map[string]struct {
		put     store.Doc
		answers []fakeAnswer
		version store.Version
		err     error
	}{
		"another's":           {doc, []fakeAnswer{says("_create", 409, conflict), there(other, "x.9", 4, 1), stats(0, "STARTED 4")}, "", store.ErrConflict},
		"replaced":            {update, []fakeAnswer{says("_doc", 409, conflict), there(other, "x.9", 4, 1), stats(0, "STARTED 4")}, "", store.ErrConflict},
		"gone":                {update, []fakeAnswer{says("_doc", 409, conflict), gone("a")}, "", store.ErrConflict},
		"lost with a primary": {doc, []fakeAnswer{says("_create", 409, conflict), gone("a"), wroteAt("_create", 5, 2)}, "5.2", nil},
		"as it was":           {update, []fakeAnswer{says("_doc", 409, conflict), there(other, "x.9", 3, 1), stats(0, "STARTED 3"), wroteAt("_doc", 5, 2)}, "5.2", nil},
		"ours":                {doc, []fakeAnswer{says("_create", 409, conflict), there(doc, "me.1", 4, 1), stats(0, "STARTED 4"), wroteAt("_doc", 6, 2)}, "6.2", nil},
		"ours, and then another's": {doc, []fakeAnswer{
			says("_create", 409, conflict), there(doc, "me.1", 4, 1), stats(0, "STARTED 4"), says("_doc", 409, conflict),
		}, "", store.ErrUnknown},
		"not parsed":         {doc, []fakeAnswer{says("_create", 400, "document_parsing_exception"), wroteAt("_create", 6, 1)}, "6.1", nil},
		"too many requests":  {doc, []fakeAnswer{says("_create", 429, "es_rejected_execution_exception")}, "", store.ErrUnavailable},
		"flood stage":        {doc, []fakeAnswer{says("_create", 429, "cluster_block_exception")}, "", store.ErrUnavailable},
		"no shard":           {doc, []fakeAnswer{says("_create", 503, "unavailable_shards_exception")}, "", store.ErrUnknown},
		"connection broke":   {doc, []fakeAnswer{{verb: "_create", err: syscall.ECONNRESET}}, "", store.ErrUnavailable}, // the fake has no connection
		"an odd good answer": {doc, []fakeAnswer{{verb: "_create", status: 200, body: "{}"}}, "", store.ErrUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := handle(t, c.answers...)
			s.life = "me"
			v, err := s.Put(background, c.put)
			if v != c.version || !errors.Is(err, c.err) || c.err == nil && err != nil {
				t.Errorf("put: %q, %v; want %q, %v", v, err, c.version, c.err)
			}
			if errors.Is(err, store.ErrUnknown) != errors.Is(c.err, store.ErrUnknown) {
				t.Errorf("put: %v; want %v", err, c.err)
			}
		})
	}
}

func TestDeletes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		version store.Version
		answers []fakeAnswer
		err     error
	}{
		"done":        {"3.1", []fakeAnswer{{verb: "_doc", status: 200, body: "{}"}}, nil},
		"replaced":    {"3.1", []fakeAnswer{says("_doc", 409, conflict), there(doc, "x.1", 4, 1), stats(0, "STARTED 4")}, store.ErrConflict},
		"gone":        {"3.1", []fakeAnswer{says("_doc", 409, conflict), gone("a")}, store.ErrNotFound},
		"as it was":   {"3.1", []fakeAnswer{says("_doc", 409, conflict), there(doc, "x.1", 3, 1), stats(0, "STARTED 4"), {verb: "_doc", status: 200, body: "{}"}}, nil},
		"no version":  {"nonsense", []fakeAnswer{there(doc, "x.1", 4, 1), stats(0, "STARTED 4")}, store.ErrConflict},
		"no index":    {"3.1", []fakeAnswer{says("_doc", 404, "index_not_found_exception")}, store.ErrUnavailable},
		"no answer":   {"3.1", []fakeAnswer{says("_doc", 502, "")}, store.ErrUnknown},
		"no document": {"", []fakeAnswer{gone("a")}, store.ErrNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, f := handle(t, c.answers...)
			err := s.Delete(background, "a", c.version)
			if !errors.Is(err, c.err) || c.err == nil && err != nil {
				t.Errorf("delete: %v; want %v", err, c.err)
			}
			if name == "done" && !strings.Contains(f.got[0], "if_seq_no=3&if_primary_term=1") {
				t.Errorf("it sent %q", f.got)
			}
		})
	}
}

func TestVersions(t *testing.T) {
	t.Parallel()
	for _, v := range []store.Version{"0.1", "17.3"} {
		if at, ok := spotOf(v); !ok || at.version() != v {
			t.Errorf("%s is read as %+v, %v", v, at, ok)
		}
	}
	for _, v := range []store.Version{"", "1", "1.0", "-1.1", "01.1", "1.1.1", "x.1", "1.1 "} {
		if at, ok := spotOf(v); ok {
			t.Errorf("%q is read as %+v", v, at)
		}
	}
}

// TestBodies: any value comes back byte by byte, also when the server lays the rest of the document out again, and damage is found.
func TestBodies(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := store.Doc{Key: rapid.StringMatching(`[a-z/]{1,20}`).Draw(t, "key")}
		if rapid.Bool().Draw(t, "object") {
			object := rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "object")
			d.Value, _ = json.Marshal(object) // texts
		} else {
			d.Value = rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
		}
		text, err := encode(d, "x.1", rapid.Bool().Draw(t, "plain"))
		if err != nil {
			t.Fatal(err)
		}
		value, by, err := decode(d.Key, text)
		if err != nil || by != "x.1" || !bytes.Equal(value, d.Value) {
			t.Fatalf("%q came back as %q by %q, %v, over %s", d.Value, value, by, err, text)
		}
		if _, _, err := decode(d.Key+"x", text); !errors.Is(err, ErrDamaged) {
			t.Fatalf("under another key: %v", err)
		}
		broken := bytes.Replace(text, []byte(`"sum":`), []byte(`"sum":1`), 1)
		if _, _, err := decode(d.Key, broken); !errors.Is(err, ErrDamaged) {
			t.Fatalf("with another checksum: %v", err)
		}
	})
}

func TestIndexNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"rota", "a", "0-x.y_z"} {
		if err := CheckIndex(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"", "Rota", "-a", "_a", ".a", "a/b", "a,b", "a*", strings.Repeat("a", 201)} {
		if CheckIndex(name) == nil {
			t.Errorf("%q is taken", name)
		}
	}
}

// A refresh that was refused, or reached only some copies, is not taken for one.
func TestRefresh(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		body   string
		want   string // in the error; "" for none
	}{
		{200, `{"_shards":{"total":2,"successful":1,"failed":0}}`, ""},
		{200, `{"_shards":{"total":2,"successful":1,"failed":1}}`, "1 copies of the index were not refreshed"},
		{200, `{`, "the answer to a refresh"},
		{403, `{"error":{"type":"security_exception","reason":"action [indices:admin/refresh] is unauthorized"}}`, "grant the user"},
	} {
		s, _ := handle(t, fakeAnswer{verb: "_refresh", status: c.status, body: c.body})
		err := s.Refresh(t.Context())
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d %s: %v, want %q", c.status, c.body, err, c.want)
		}
	}
}
