package tasks

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

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

func TestAllFaultsAtOnce(t *testing.T) {
	t.Parallel()
	_, err := Builtin(Options{})["http"].New(work.Definition{Config: json.RawMessage(`{"method":"X","allow":["y"]}`)})
	for _, want := range []string{"config.url", "config.method", "config.allow[0]"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to name %s", err, want)
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
