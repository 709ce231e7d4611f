package elastic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
)

// look reads the row of the tests.
func look(c *conn) (driver.Row, error) {
	rows, err := c.Read(background, driver.Query{Keys: []string{"d/a"}})
	if err != nil {
		return driver.Row{}, err
	}
	return rows.Keys[0], nil
}

// TestWhatOneCopyHasIsNotReturned: the primary shows a write that another copy has not got yet.
func TestWhatOneCopyHasIsNotReturned(t *testing.T) {
	t.Parallel()
	c, _ := handle(t, there(others, 7, 1), stats(0, "STARTED 7", "STARTED 6"), gone("d/a"))
	c.settling.who = "n0 true, n1 false"
	if row, err := look(c); err != nil || row.Version != "" {
		t.Errorf("what was lost is returned: %+v, %v", row, err)
	}
	c, _ = handle(t, there(others, 7, 1), stats(1, "STARTED 7"), there(others, 7, 1),
		stats(0, "RELOCATING 7", "INITIALIZING -1"), there(others, 7, 1))
	for range 2 { // the second time it is known
		if row, err := look(c); err != nil || row.Version != "7.1" || row.Name != "x.9" ||
			string(row.Value) != `v{"y":2}` {
			t.Errorf("read: %+v, %v", row, err)
		}
	}
}

// TestTheCopyThatWasReadMayBeGone: then the others say nothing of what it had.
func TestTheCopyThatWasReadMayBeGone(t *testing.T) {
	t.Parallel()
	c, _ := handle(t, there(others, 7, 1), stats(0, "STARTED 8"), gone("d/a"))
	c.settling.who = "n0 false, n1 true"
	if row, err := look(c); err != nil || row.Version != "" {
		t.Errorf("what was lost is returned: %+v, %v", row, err)
	}
}

// TestACheckpointOfAnotherTerm says nothing of a row that an old primary shows: its number may have been given twice.
func TestACheckpointOfAnotherTerm(t *testing.T) {
	t.Parallel()
	c, _ := handle(t, there(others, 9, 2), stats(0, "STARTED 9"), there(others, 8, 1), stats(0, "STARTED 7"),
		gone("d/a"))
	must.Succeed(t, must.Err(look(c)))
	if row, err := look(c); err != nil || row.Version != "" {
		t.Errorf("read: %+v, %v", row, err)
	}
}

// TestWhatWasAcknowledgedIsKnown: the handle's own write needs no second look.
func TestWhatWasAcknowledgedIsKnown(t *testing.T) {
	t.Parallel()
	c, _ := handle(t, wroteAt("_create", 3, 1), there(write, 3, 1))
	v, err := c.Swap(background, write)
	if err != nil || v != "3.1" {
		t.Fatalf("swap: %s, %v", v, err)
	}
	if _, err := look(c); err != nil {
		t.Error(err)
	}
	for i := range 2 * mostSettled {
		c.settling.note(strconv.Itoa(i), spot{1, 1})
	}
	if n := len(c.settling.done); n > mostSettled {
		t.Errorf("%d rows are remembered", n)
	}
}

func TestSwaps(t *testing.T) {
	t.Parallel()
	update, page := write, write
	update.If, page.Once = "3.1", true
	remove := driver.Op{Key: "d/a", Name: "me.1", If: "3.1", Delete: true}
	refused, refusedUpdate := says("_create", 409, conflict), says("_doc", 409, conflict)
	deleted, missing := fakeAnswer{verb: "_doc", status: 200, body: "{}"},
		fakeAnswer{verb: "_doc", status: 404, body: `{"result":"not_found"}`}
	for name, c := range map[string]struct { // order-free: the tests are independent
		op      driver.Op
		answers []fakeAnswer
		version driver.Version
		err     error
	}{
		"another's": {write, []fakeAnswer{refused, there(others, 4, 1), stats(0, "STARTED 4")}, "", store.ErrConflict},
		"replaced": {update, []fakeAnswer{refusedUpdate, there(others, 4, 1), stats(0, "STARTED 4")}, "",
			store.ErrConflict},
		"gone":                {update, []fakeAnswer{refusedUpdate, gone("d/a")}, "", store.ErrConflict},
		"lost with a primary": {write, []fakeAnswer{refused, gone("d/a"), wroteAt("_create", 5, 2)}, "5.2", nil},
		// Who drops records because their page is there must not lose it with the one copy that had it.
		"a page that is lost with a primary": {page, []fakeAnswer{
			refused, there(others, 4, 1), stats(0, "STARTED 3"), gone("d/a"), wroteAt("_create", 5, 2),
		}, "5.2", nil},
		"as it was": {update, []fakeAnswer{refusedUpdate, there(others, 3, 1), stats(0, "STARTED 3"),
			wroteAt("_doc", 5, 2)}, "5.2", nil},
		// Others may have seen it under this version: it is not written again under another one.
		"ours": {write, []fakeAnswer{refused, there(write, 4, 1), stats(0, "STARTED 4")}, "4.1", nil},
		"ours, lost with a primary": {write, []fakeAnswer{
			refused, there(write, 4, 1), stats(0, "STARTED 3"), gone("d/a"), wroteAt("_create", 5, 2),
		}, "5.2", nil},
		"a conflict that nobody can look at": {write, []fakeAnswer{refused, says("_mget", 401, "security_exception")},
			"", store.ErrUnknown},
		"not parsed": {write, []fakeAnswer{says("_create", 400, "document_parsing_exception"),
			wroteAt("_create", 6, 1)}, "6.1", nil},
		"too many requests": {write,
			[]fakeAnswer{says("_create", 429, "es_rejected_execution_exception")}, "", store.ErrUnavailable},
		"flood stage": {write, []fakeAnswer{says("_create", 429, "cluster_block_exception")}, "", store.ErrUnavailable},
		"an error of the server": {write, []fakeAnswer{says("_create", 500, "illegal_state_exception")}, "",
			store.ErrUnknown},
		"no shard": {write, []fakeAnswer{says("_create", 503, "unavailable_shards_exception")}, "", store.ErrUnknown},
		"connection broke": {write, []fakeAnswer{{verb: "_create", err: syscall.ECONNRESET}}, "",
			store.ErrUnavailable}, // the fake has no connection
		"an answer that breaks off": {write, []fakeAnswer{{verb: "_create", status: 201, err: syscall.ECONNRESET}}, "",
			store.ErrUnknown},
		"an odd good answer": {write, []fakeAnswer{{verb: "_create", status: 200, body: "{}"}}, "", store.ErrUnknown},
		"deleted":            {remove, []fakeAnswer{deleted}, "", nil},
		"deleted, where another's is": {remove,
			[]fakeAnswer{refusedUpdate, there(others, 4, 1), stats(0, "STARTED 4")}, "", store.ErrConflict},
		"deleted, where nothing is": {remove, []fakeAnswer{missing, gone("d/a")}, "", store.ErrConflict},
		"deleted, where it is as it was": {remove, []fakeAnswer{
			refusedUpdate, there(others, 3, 1), stats(0, "STARTED 4"), deleted,
		}, "", nil},
		"deleted, without an index": {remove, []fakeAnswer{says("_doc", 404, "index_not_found_exception")}, "",
			store.ErrUnavailable},
		"deleted, without an answer": {remove, []fakeAnswer{says("_doc", 502, "")}, "", store.ErrUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, f := handle(t, c.answers...)
			v, err := s.Swap(background, c.op)
			if v != c.version || !errors.Is(err, c.err) || c.err == nil && err != nil {
				t.Errorf("swap: %q, %v; want %q, %v", v, err, c.version, c.err)
			}
			if errors.Is(err, store.ErrUnknown) != errors.Is(c.err, store.ErrUnknown) {
				t.Errorf("swap: %v; want %v", err, c.err)
			}
			if c.op.If != "" && !strings.Contains(f.got[0], "if_seq_no=3&if_primary_term=1") {
				t.Errorf("it sent %q", f.got)
			}
		})
	}
}

// TestServersInTurn: a change that was not sent is made at each server once; a read is too, and again at the first. The
// server that answered is the next one that is asked, though another call has failed at the same server meanwhile.
func TestServersInTurn(t *testing.T) {
	t.Parallel()
	fails, down, good := fakeAnswer{err: syscall.ECONNREFUSED}, fakeAnswer{status: 502}, fakeAnswer{status: 200}
	for name, c := range map[string]struct { // order-free: the tests are independent
		reads   bool
		answers []fakeAnswer
		hosts   string
		err     error
	}{
		"a change":            {false, []fakeAnswer{fails, good, good}, "abb", nil},
		"a change, all down":  {false, []fakeAnswer{fails, fails, good}, "aba", store.ErrUnavailable},
		"a redirection":       {false, []fakeAnswer{{status: 307}, good}, "aa", nil},
		"a read":              {true, []fakeAnswer{down, good, good}, "abb", nil},
		"a read, all away":    {true, []fakeAnswer{fails, down, fails, good}, "abab", store.ErrUnavailable},
		"a read, late answer": {true, []fakeAnswer{fails, down, good, good}, "abaa", nil},
	} {
		s, f := handle(t, c.answers...)
		s.o.Servers = []string{"a", "b"}
		f.during = func(host string) { // another call, which fails at the server where this one is
			if turn := s.current.Load(); c.reads && s.o.Servers[turn%2] == host && f.answers[0].status != 200 {
				s.current.Store(turn + 1)
			}
		}
		if _, err := s.try(background, request{"GET", "/", nil}, c.reads); !errors.Is(err, c.err) {
			t.Errorf("%s: %v, want %v", name, err, c.err)
		}
		if _, err := s.try(background, request{"GET", "/", nil}, c.reads); err != nil || f.hosts != c.hosts {
			t.Errorf("%s: %v; it asked %s, want %s", name, err, f.hosts, c.hosts)
		}
	}
}

// TestOddAnswers: what says nothing of the row does not say that there is none.
func TestOddAnswers(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`{"docs":[]}`, `{"docs":[{"_id":"b","found":false}]}`,
		`{"docs":[{"_id":"a","error":{"type":"no_shard_available_action_exception","reason":"why"}}]}`} {
		c, _ := handle(t, fakeAnswer{verb: "_mget", status: 200, body: body})
		if row, err := look(c); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: %+v, %v", body, row, err)
		}
	}
}

// TestIndexes: the index that another process makes at the same time is used, if it is a store, and an observer may
// look at one that takes no writes.
func TestIndexes(t *testing.T) {
	t.Parallel()
	none, made := says("rota", 404, "index_not_found_exception"), says("rota", 400, "resource_already_exists_exception")
	as := func(name, mapping, settings string) fakeAnswer {
		const text = `{%q:{"mappings":%s,"settings":{"index":{"number_of_shards":"1",%s}}}}`
		return fakeAnswer{verb: "rota", status: 200, body: fmt.Sprintf(text, name, mapping, settings)}
	}
	is := func(name, blocks string) fakeAnswer { return as(name, ours, `"blocks":{`+blocks+`}`) }
	more := strings.Replace(ours, `"properties":{`, `"properties":{"theirs":{"type":"keyword"},`, 1)
	for name, c := range map[string]struct { // order-free: the tests are independent
		readOnly bool
		answers  []fakeAnswer
		want     string // in the error; "" for none
	}{
		"made by another": {false, []fakeAnswer{none, made, is("rota", "")}, ""},
		"gone again":      {false, []fakeAnswer{none, made, none}, "could not be made in time"},
		"not on disk":     {false, []fakeAnswer{as("rota", ours, `"translog":{"durability":"async"}`)}, "on disk"},
		"more fields":     {false, []fakeAnswer{as("rota", more, `"blocks":{}`)}, "a Rota store has not"},
		"refused":         {false, []fakeAnswer{none, says("rota", 400, "validation_exception")}, "status 400"},
		"an alias":        {false, []fakeAnswer{is("rota-1", "")}, "is an alias"},
		"blocked":         {false, []fakeAnswer{is("rota", `"write":"true"`)}, "is blocked"},
		"full":            {false, []fakeAnswer{is("rota", `"read_only_allow_delete":"true"`)}, "is read-only"},
		"may write":       {false, []fakeAnswer{is("rota", ""), says("_doc", 409, conflict)}, ""},
		"may only read":   {false, []fakeAnswer{is("rota", ""), says("_doc", 403, "security_exception")}, "grant the user"},
		"observed":        {true, []fakeAnswer{is("rota", `"write":"true","read_only_allow_delete":"true"`)}, ""},
	} {
		s, _ := handle(t, c.answers...)
		s.o.ReadOnly = c.readOnly
		err := s.identify(background)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestHealth: an index whose newest copy is away is not opened; who may not ask opens it.
func TestHealth(t *testing.T) {
	t.Parallel()
	health := func(text string) fakeAnswer { return fakeAnswer{verb: "_cluster/health", status: 200, body: text} }
	for want, answers := range map[string][]fakeAnswer{ // order-free: each is judged alone
		"is red": {health(`{"status":"red","active_primary_shards":1}`)},
		"":       {says("_cluster/health", 403, "security_exception")},
		"is red: no node that has its newest copy": {health(`{"status":"yellow","active_primary_shards":0}`)},
	} {
		s, _ := handle(t, answers...)
		if err := s.checkHealth(background); (err == nil) != (want == "") || err != nil &&
			!strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", answers, err, want)
		}
	}
}

// TestFree: what a bulk request could not do is an error, though the request was good.
func TestFree(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]error{ // order-free: the tests are independent
		`{"errors":false,"items":[{"delete":{"_id":"/p/1","status":404}}]}`: nil,
		`{"errors":true,"items":[{"delete":{"_id":"/p/1","status":429}}]}`:  store.ErrUnknown,
		`{}`: store.ErrUnknown,
		`{`:  store.ErrUnknown,
	} {
		c, f := handle(t, fakeAnswer{verb: "_bulk", status: 200, body: answer})
		if err := c.Free(background, []string{"p/1"}); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v, to %q", answer, err, want, f.got)
		}
	}
}

func TestVersions(t *testing.T) {
	t.Parallel()
	for _, v := range []driver.Version{"0.1", "17.3"} {
		if at, ok := spotOf(v); !ok || at.version() != v {
			t.Errorf("%s is read as %+v, %v", v, at, ok)
		}
	}
	for _, v := range []driver.Version{"", "1", "1.0", "-1.1", "01.1", "1.1.1", "x.1", "1.1 "} {
		if at, ok := spotOf(v); ok {
			t.Errorf("%q is read as %+v", v, at)
		}
	}
}

// TestBodies: any value comes back byte by byte, also when the server lays the rest of the document out again, and
// damage is found.
func TestBodies(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		op := driver.Op{Key: rapid.StringMatching(`(d/)?[a-z/]{1,20}`).Draw(t, "key"), Name: "x.1"}
		if rapid.Bool().Draw(t, "object") {
			object := rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "object")
			op.Value, _ = json.Marshal(object) // texts
			if rapid.Bool().Draw(t, "wide") {
				op.Value = bytes.ReplaceAll(op.Value, []byte(`":"`), []byte(`": "`))
			}
			op.Value = append([]byte(rapid.SampledFrom([]string{"", "v", "vv", "V"}).Draw(t, "kind")), op.Value...)
		} else {
			op.Value = rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
		}
		text := must.Get(encode(op, rapid.Bool().Draw(t, "plain")))(t)
		value, by, err := decode(op.Key, text)
		if err != nil || by != "x.1" || !bytes.Equal(value, op.Value) {
			t.Fatalf("%q came back as %q by %q, %v, over %s", op.Value, value, by, err, text)
		}
		if _, _, err := decode(op.Key+"x", text); !errors.Is(err, ErrDamaged) {
			t.Fatalf("under another key: %v", err)
		}
		broken := bytes.Replace(text, []byte(`"sum":`), []byte(`"sum":1`), 1)
		if _, _, err := decode(op.Key, broken); !errors.Is(err, ErrDamaged) {
			t.Fatalf("with another checksum: %v", err)
		}
	})
}

// TestIDs: each row has an _id of its own, that of a document is no longer than its key, and it tells the key.
func TestIDs(t *testing.T) {
	t.Parallel()
	for key, id := range map[string]string{"d/a/b": "a/b", "d/d/a": "d/a", "l/main/head": "/l/main/head", "k": "/k",
		"d": "/d"} { // order-free: each is judged alone
		if got := idOf(key); got != id || keyOf(got) != key {
			t.Errorf("%s has the _id %s, of %s", key, got, keyOf(got))
		}
	}
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
		{200, `{`, "the answer to _refresh"},
		{403, `{"error":{"type":"security_exception","reason":"action [indices:admin/refresh] is unauthorized"}}`,
			"grant the user"},
		{405, `{"error":"Incorrect HTTP method"}`, "Incorrect HTTP method"},
	} {
		s, _ := handle(t, fakeAnswer{verb: "_refresh", status: c.status, body: c.body})
		err := s.refresh(t.Context())
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d %s: %v, want %q", c.status, c.body, err, c.want)
		}
	}
}
