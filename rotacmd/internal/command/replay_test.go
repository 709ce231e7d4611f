package command

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/view"
	"github.com/rota-run/rota/store/file"
)

// history writes a log by hand: a joins at 12:00:01, c1 and c2 are submitted a second apart, c1 is killed. The writer "fast" has a clock that is an hour ahead.
func history(t *testing.T) *place {
	t.Helper()
	p := newPlace(t)
	st, err := file.Open(t.Context(), "store", file.Options{})
	must.Succeed(t, err)
	defer st.Close()
	start := time.Date(2026, 11, 22, 12, 0, 0, 0, time.Local)
	for i, c := range []struct {
		writer  cluster.WriterID
		after   time.Duration
		command cluster.Command
	}{
		{"a", 1 * time.Second, cluster.PrepareJoin{Member: "a", Heartbeat: "pulse/a"}},
		{"fast", time.Hour, cluster.SubmitJob{Job: "c1", Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "noop"}}}}},
		{"a", 3 * time.Second, cluster.SubmitJob{Job: "c2", Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "noop"}}}}},
		{"a", 4 * time.Second, cluster.KillJob{Job: "c1"}},
	} {
		e := cluster.Entry{Writer: c.writer, Seq: uint64(i) + 1, AtMS: start.Add(c.after).UnixMilli(), Commands: []cluster.Command{c.command}}
		must.Succeed(t, must.Err(st.Append(t.Context(), e.Encode())))
	}
	return p
}

func moment(t *testing.T, p *place, args ...string) (m view.Moment) {
	t.Helper()
	out, errs, code := p.rota(append(args, "-o", "json", "--store", "file:store")...)
	if err := json.Unmarshal([]byte(out), &m); err != nil || code != 0 {
		t.Fatalf("%v: exit %d, %v: %s%s", args, code, err, out, errs)
	}
	return m
}

// TestReplay: each index shows the jobs that were there then, and the last one what is there now.
func TestReplay(t *testing.T) {
	p := history(t)
	for index, jobs := range []string{"", "", "c1", "c1 c2", "c1 c2"} {
		m := moment(t, p, "log", "show", fmt.Sprint(index))
		if got := strings.Join(m.Jobs, " "); got != jobs || m.Index != uint64(index) || m.Oldest.Index != 0 || m.Newest.Index != 4 {
			t.Errorf("at %d: jobs %q, want %q; %+v", index, got, jobs, m.Point)
		}
	}
	out, _, code := p.rota("log", "show", "3", "--store", "file:store")
	if want := []string{"HISTORY, not now: index 3 (", " by the clock of a)", "the log goes from index 0 to index 4", "clocks of writers differ by at least", "1 member · 2 tasks · 2 submitted jobs", "c2"}; code != 0 || !containsAll(out, want) {
		t.Errorf("exit %d, want %q in\n%s", code, want, out)
	}
	out, _, code = p.rota("log", "diff", "2", "4", "--store", "file:store")
	if want := []string{"from index 2 (", "~  member  a   joined, 1 task → joined, 2 tasks", "~  job     c1  running → killed", "+  job     c2  running", "+  task    c2  running on a (token 3)", "~  task    c1  running on a (token 2) → moving"}; code != 0 || !containsAll(out, want) {
		t.Errorf("exit %d, want %q in\n%s", code, want, out)
	}
	if out, _, _ := p.rota("log", "diff", "4", "4", "--store", "file:store"); !strings.Contains(out, "nothing differs") {
		t.Error(out)
	}
}

// TestLogAt: the instant is looked up by the writers' clocks, and one that is an hour ahead does not decide.
func TestLogAt(t *testing.T) {
	p := history(t)
	for at, index := range map[string]uint64{
		"2026-11-22 11:00": 0, "2026-11-22 12:00:01": 1, "2026-11-22 12:00:03": 3, "2026-11-22T12:00:04": 4, "2026-11-22 12:30:00": 4, "2026-11-22 18:00": 4,
	} {
		if m := moment(t, p, "log", "show", "--at", at); m.Index != index || m.SkewMS < 3_000_000 {
			t.Errorf("at %s: index %d, want %d; skew %d ms", at, m.Index, index, m.SkewMS)
		}
	}
}

func TestHistoryIsAskedForWrongly(t *testing.T) {
	p := history(t)
	for args, want := range map[string]string{
		"log show":                 "log show takes an index, or --at",
		"log show x":               `"x" is not an index`,
		"log diff 1":               "takes two arguments",
		"log show 1 --at 14:02":    "log show takes an index, or --at",
		"log show 5":               "the log does not hold index 5: it goes from 0 to 4",
		"log diff 1 99":            "the log does not hold index 99",
		"log diff 3 2":             "index 3 comes after 2",
		"log show --at tomorrow":   `"tomorrow" is not a time`,
		"log show 3 --store file:": "",
	} {
		words := strings.Fields(args)
		if !strings.Contains(args, "--store") {
			words = append(words, "--store", "file:store")
		}
		if out, errs, code := p.rota(words...); code == 0 || out != "" || !strings.Contains(errs, want) || !strings.Contains(errs, "try: ") && !strings.Contains(args, "3 2") {
			t.Errorf("%s: exit %d, %q in\n%s", args, code, want, errs)
		}
	}
}

func TestInstants(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 14, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"14:02": "2026-11-21T14:02:00Z", "13:59": "2026-11-22T13:59:00Z", "13:59:07": "2026-11-22T13:59:07Z", "2026-11-20 01:02": "2026-11-20T01:02:00Z",
		"2026-11-20T01:02:03+01:00": "2026-11-20T00:02:03Z", "": "", "14": "", "25:00": "",
	} {
		got, ok := instantOf(text, now)
		if ok != (want != "") || ok && got.UTC().Format(time.RFC3339) != want {
			t.Errorf("%q is %v, want %s", text, got, want)
		}
	}
}
