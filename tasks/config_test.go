package tasks

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/work"
)

func TestConfigFaultsSayWhereAndWhatToTry(t *testing.T) {
	t.Parallel()
	checkFaults(t, Options{Witness: true}, "testdata/faults.txt")
}

func TestTheLastValuesThatAreGood(t *testing.T) {
	t.Parallel()
	for typ, config := range map[string]string{
		"http": `{"url":"https://a.example/","redirects":20,"expect":{"status":[100,599]}}`,
		"tcp":  `{"addr":"a.example:65535","expect":"ab","max_answer":2}`,
		"tail": `{"paths":["/tmp/a"],"flush":"1h"}`,
	} {
		if _, err := Builtin(Options{})[typ].New(work.Definition{Config: json.RawMessage(config)}); err != nil {
			t.Errorf("%s %s: %v", typ, config, err)
		}
	}
}

func TestNoSecretInConfigErrors(t *testing.T) {
	t.Parallel()
	_, err := Builtin(Options{})["http"].New(work.Definition{Config: json.RawMessage(`{"url":"https://u:hunter2@a.example/%zz"}`)})
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v, want an error without the password", err)
	}
	for _, field := range []string{"password", "key", "ca", "cert"} {
		_, err := Builtin(Options{})["http"].New(define(t,
			object{"url": "https://a.example/", "user": "ann", field: "hunter2"}))
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: got %v, want an error without the secret", field, err)
		}
	}
}

// FuzzNew feeds any bytes as config to every type: an error or a runner, never a panic.
func FuzzNew(f *testing.F) {
	f.Add("http", []byte(`{"url":"https://a.example/","expect":{"json":{"a.b":[1]}}}`))
	f.Add("http", []byte(`{"url":[[]],"allow":[{}]}`))
	f.Add("host", []byte(`null`))
	f.Add("tail", []byte(`{"paths":["["],"match":"("}`))
	table := Builtin(Options{Witness: true, ExecAllow: []string{"/bin/true"}})
	f.Fuzz(func(t *testing.T, name string, config []byte) {
		typ, ok := table[name]
		if !ok {
			return
		}
		r, err := typ.New(work.Definition{Config: config})
		if err == nil && r == nil {
			t.Fatal("neither a runner nor an error")
		}
		var ce *work.ConfigError
		if err != nil && !errors.As(err, &ce) {
			t.Fatalf("%v is not a ConfigError", err)
		}
	})
}

// JSON compares all kinds of values, and all that is in them.
func TestSameJSONOfAllKinds(t *testing.T) {
	t.Parallel()
	decode := func(s string) (v any) {
		d := json.NewDecoder(strings.NewReader(s))
		d.UseNumber()
		must.Succeed(t, d.Decode(&v))
		return v
	}
	for _, same := range [][2]string{{`1`, `1.0`}, {`1e999999999`, `1e999999999`},
		{`[1,{"a":null}]`, `[1.0,{"a":null}]`}} {
		if !sameJSON(decode(same[0]), decode(same[1])) {
			t.Errorf("%s and %s are not the same", same[0], same[1])
		}
	}
	if long := "1" + strings.Repeat("0", 70); sameJSON(decode(long), decode(`1e70`)) ||
		!sameJSON(decode(long), decode(long)) {
		t.Error("a number of more than 64 bytes is not compared as it is written")
	}
	all := []string{`null`, `true`, `false`, `""`, `"a"`, `"1"`, `1`, `9007199254740993`, `9007199254740992`, `1.5`,
		`[]`, `[1]`, `[1,2]`, `[2,1]`, `{}`, `{"a":1}`, `{"a":2}`, `{"b":1}`, `{"a":1,"b":1}`}
	for _, a := range all {
		for _, b := range all {
			if got := sameJSON(decode(a), decode(b)); got != (a == b) {
				t.Errorf("%s and %s are the same: %t", a, b, got)
			}
		}
	}
}

// A path leads to one value or to none: RFC 6901 with its escapes, or names and indexes between dots.
func TestPathsOfJSON(t *testing.T) {
	t.Parallel()
	doc := must.Get(decodeAny([]byte(`{"a":[{"n":1},2],"b.c":3,"d/e":4,"~1":5,"":6}`)))(t)
	for path, want := range map[string]string{
		"a.0.n": "1", "/a/0/n": "1", "a.1": "2", "/b.c": "3", "/d~1e": "4", "/~01": "5", "/": "6",
		"a.2": "", "a.-1": "", "a.x": "", "b.c": "", "a.1.n": "", "/d/e": "", "z": "",
	} {
		got, ok := lookUp(doc, path)
		if ok != (want != "") || ok && fmt.Sprint(got) != want {
			t.Errorf("%s: %v %t, want %q", path, got, ok, want)
		}
	}
}

// The name of a metric ends before the first character that none has.
func TestMetricNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", "z", "A", "Z", "a0", "a9", "_", "a:b", "azAZ09_:"} {
		for _, end := range []string{"", " 1", "{a=\"b\"} 1", "/", ";", "@", "[", "`"} {
			if got, _ := metricName([]byte(name + end)); got != name {
				t.Errorf("%q begins with %q, not %q", name+end, name, got)
			}
		}
	}
}

// A prefix of an IPv4 address that is written as one of IPv6 is one of IPv4, from its first bit on.
func TestMappedPrefixes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"::ffff:10.1.2.3/96": "0.0.0.0/0", "::ffff:10.1.2.3/104": "10.0.0.0/8", "::ffff:10.1.2.3/128": "10.1.2.3/32",
		"::ffff:10.1.2.3/95": "::fffe:0:0/95",
	} {
		if p, err := parseCIDR(text); err != nil || p.String() != want {
			t.Errorf("%s: %s, %v; want %s", text, p, err, want)
		}
	}
}

// Secrets stay with the scheme too: a redirect from https to http would send them in the clear.
func TestSameOrigin(t *testing.T) {
	t.Parallel()
	first := must.Get(url.Parse("https://example.com/a"))(t)
	for text, want := range map[string]bool{
		"https://example.com/b": true, "http://example.com/a": false, "https://example.com:8443/a": false,
		"https://www.example.com/a": false,
	} {
		u := must.Get(url.Parse(text))(t)
		if got := sameOrigin(u, first); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}
