package source_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/source"
	"github.com/rota-run/rota/work"
)

// types are task types that check their config in all the ways that a type may.
func types() work.Types {
	type checkConfig struct {
		URL    string `json:"url"`
		Expect struct {
			Status []int `json:"status"`
		} `json:"expect"`
		Headers map[string]string `json:"headers"`
		Big     json.Number       `json:"big"`
		Any     any               `json:"any"`
	}
	check := func(d work.Definition) (work.Runner, error) {
		var c checkConfig
		if err := work.DecodeConfig(d, &c); err != nil {
			return nil, err
		}
		var errs []error
		if !strings.HasPrefix(c.URL, "https://") {
			errs = append(errs, &work.ConfigError{Path: "config.url", Err: fmt.Errorf("%q is not https", c.URL), Hint: "begin it with https://"})
		}
		for i, s := range c.Expect.Status {
			if s < 100 {
				errs = append(errs, &work.ConfigError{Path: fmt.Sprintf("config.expect.status[%d]", i), Err: fmt.Errorf("%d is not a status", s)})
			}
		}
		for k := range c.Headers {
			if strings.Contains(k, " ") {
				errs = append(errs, &work.ConfigError{Path: "config.headers." + k, Err: errors.New("unknown field"), Hint: "no spaces"})
			}
		}
		return work.RunnerFunc(nil), errors.Join(errs...)
	}
	accepts := func(work.Definition) (work.Runner, error) { return work.RunnerFunc(nil), nil }
	return work.Types{
		"check":          {Name: "check", Periodic: true, DefaultEvery: time.Minute, New: check},
		"noop":           {Name: "noop", Periodic: true, New: accepts},
		"tail":           {Name: "tail", New: accepts},
		"plain":          {Name: "plain", New: func(work.Definition) (work.Runner, error) { return nil, errors.New("no luck\ntoday") }},
		"wild":           {Name: "wild", New: func(work.Definition) (work.Runner, error) { panic("wild") }},
		"rota.directory": {Name: "rota.directory", New: accepts},
	}
}

// TestScripts parses the files in testdata; -rewrite writes the present outcome. The command is the file's name; with the argument escaped the
// input is a Go string without its quotes.
func TestScripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/files", func(t *testing.T, path string) {
		t.Parallel()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			in := d.Input
			if d.HasArg("escaped") {
				var err error
				if in, err = strconv.Unquote(`"` + in + `"`); err != nil {
					t.Fatalf("%s: the input %s: %v", d.Pos, in, err)
				}
			}
			return outcome(d.Cmd, in)
		})
	})
}

func outcome(path, in string) string {
	id, spec, err := source.Parse(path, []byte(in), types())
	if m, ok := errors.AsType[*source.MalformedError](err); ok {
		return strings.Join(append([]string{m.Error()}, m.Lines...), "\n") + "\n"
	}
	return describe(id, spec)
}

func describe(id cluster.JobID, spec cluster.JobSpec) string {
	t := spec.Tasks[0]
	s := fmt.Sprintf("%s: %s %s weight=%d %s", id, t.Type, t.Spread, t.Weight, t.Handover)
	for _, l := range t.Selector {
		s += fmt.Sprintf(" %s=%s", l.Key, l.Value)
	}
	if t.SpreadOver != "" || t.Pin != "" || t.MaxAttempts != 0 || len(t.Partitions) > 0 {
		s += fmt.Sprintf(" over=%q pin=%q attempts=%d partitions=%q", t.SpreadOver, t.Pin, t.MaxAttempts, t.Partitions)
	}
	return s + "\n" + string(t.Definition) + "\n"
}
