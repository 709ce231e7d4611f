package supervisor

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/work"
)

// TestTheLogOfARunNamesIt: however it is used, it says which partition and token it is about, and nothing below the
// level of the member's log.
func TestTheLogOfARunNamesIt(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	omit := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	s := &Supervisor{log: slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: omit})).With("member",
		"m")}
	r := &run{s: s, granted: granted{id: "p#1", token: 7}}
	log := r.log()
	log.Info("one", "x", 1)
	log.Debug("none")
	log.With("y", 2).Info("two")
	log.WithGroup("g").Info("three", "z", 3)
	want := `level=INFO msg=one member=m partition=p#1 token=7 x=1
level=INFO msg=two member=m partition=p#1 token=7 y=2
level=INFO msg=three member=m partition=p#1 token=7 g.z=3
`
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", &out, want)
	}
}

// TestSignalNote checks whom a note wakes: whose flow has changed since what was seen, and everybody if that cannot be
// told.
func TestSignalNote(t *testing.T) {
	t.Parallel()
	note := signalNote{}.with([]string{"a", "b"}) // 1, 2
	seen := note.Last
	note = readNote(note.with([]string{"c", "a"}).encode())
	for flow, want := range map[string]bool{"a": true, "b": false, "c": true, "d": false} {
		if note.since(seen, flow) != want {
			t.Errorf("flow %s has changed: %v", flow, !want)
		}
	}
	if note.since(note.Last, "a") {
		t.Error("a change that was seen is seen again")
	}
	if !readNote([]byte("damaged")).since(seen, "d") || !readNote(nil).since(seen, "d") {
		t.Error("a note that was lost wakes nobody")
	}
	var many []string
	for i := range signalFlows + 10 {
		many = append(many, fmt.Sprint("flow", i))
	}
	full := note.with(many)
	if len(full.Flows) != signalFlows || !full.since(note.Last, "d") || full.since(full.Last-1, "d") ||
		!full.since(full.Last-1, many[len(many)-1]) {
		t.Errorf("a full note has %d flows, the newest %d, dropped %d", len(full.Flows), full.Last, full.Dropped)
	}
}

// TestGrantOfARun: what a run keeps of its grant is all that a Runner gets of it.
func TestGrantOfARun(t *testing.T) {
	t.Parallel()
	s := &Supervisor{log: slog.New(slog.DiscardHandler), conf: Config{Member: "m"}}
	for _, given := range []*protocol.Grant{
		{Partition: "job/task#key", Token: 7, Attempt: 3},
		{Parents: []string{"a"}}, {ListedBy: "lister"}, {Input: []byte("x")}, {Index: 2}, {Count: 4},
	} {
		r := &run{s: s, granted: grantedBy(&Start{Grant: given, Definition: &work.Definition{EveryMS: 5}})}
		job, task, key := given.Partition.Split()
		want := &work.Grant{
			Partition: given.Partition, Job: job, Task: task, Key: key, Parents: given.Parents,
			ListedBy: given.ListedBy, Input: given.Input, Index: given.Index, Count: given.Count,
			Member: "m", Token: given.Token, Attempt: given.Attempt, Definition: work.Definition{EveryMS: 5}, Host: r,
			Log: r.log(),
		}
		if got := r.grant(); !reflect.DeepEqual(got, want) {
			t.Errorf("%+v: got %+v", given, got)
		}
	}
}

// A stop is for the run of its token: it may come after that run has ended, when the next one lives.
func TestAStopIsForOneToken(t *testing.T) {
	t.Parallel()
	r := &run{granted: granted{id: "a", token: 2}, cancel: func(error) {}}
	s := &Supervisor{live: map[cluster.PartitionID]*run{"a": r}}
	r.s = s
	s.doStop(Stop{Partition: "a", Token: 1})
	s.doStop(Stop{Partition: "b", Token: 2})
	if r.stopped.Load() {
		t.Error("the run of token 2 was stopped by the stop of token 1")
	}
	if s.doStop(Stop{Partition: "a", Token: 2, Cause: StopShutdown}); !r.stopped.Load() {
		t.Error("it was not stopped by its own")
	}
}

// TestClocksAreSet: a line that names hours runs once a day, one that goes on all day runs whenever the clock shows its
// time. In Berlin clocks are set forward from 02:00 to 03:00 on 29 March 2026, and back from 03:00 to 02:00 on 25
// October.
func TestClocksAreSet(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ line, zone, from, want string }{
		{"30 6 * * *", "", "2026-03-28T00:00", "28T06:30 29T06:30 30T06:30"},
		{"30 6 * * *", "Europe/Berlin", "2026-03-28T00:00", "28T05:30 29T04:30 30T04:30"},
		{"30 2 * * *", "Europe/Berlin", "2026-03-28T00:00", "28T01:30 29T01:30 30T00:30"},
		{"30 2 * * *", "Europe/Berlin", "2026-10-24T00:00", "24T00:30 25T01:30 26T01:30"},
		{"*/30 * * * *", "Europe/Berlin", "2026-10-25T00:15", "25T00:30 25T01:00 25T01:30"},
		{"*/30 * * * *", "Europe/Berlin", "2026-03-29T00:15", "29T00:30 29T01:00 29T01:30"},
		{"0 */2 * * *", "Europe/Berlin", "2026-03-28T22:30", "28T23:00 29T02:00 29T04:00"},
		{"0 */2 * * *", "Europe/Berlin", "2026-10-24T22:30", "25T00:00 25T01:00 25T03:00"},
		{"30 2 * * *", "America/New_York", "2026-03-07T12:00", "08T07:30 09T06:30 10T06:30"},
		{"0 0 * * *", "America/Havana", "2026-03-07T12:00", "08T05:00 09T04:00 10T04:00"},
		{"20,40 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00", "03T15:40 03T15:50 04T15:20"},
		{"0 * * * 0", "Asia/Beirut", "2026-03-28T18:00", "28T22:00 28T23:00 29T00:00"},
		{"0 */6 * * *", "Australia/Lord_Howe", "2026-04-04T12:00", "04T13:00 04T19:30 05T01:30"},
		{"@daily", "America/New_York", "2026-10-31T12:00", "01T04:00 02T05:00 03T05:00"},
	} {
		d := work.Definition{Cron: c.line, TimeZone: c.zone}
		must.Succeed(t, CheckSchedule(&d))
		p := must.Get(cronPlan(&d))(t)
		at := must.Get(time.Parse("2006-01-02T15:04", c.from))(t)
		var got []string
		for range 3 {
			at = p.Next(at).UTC()
			got = append(got, at.Format("02T15:04"))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s in %q: %v, want %s", c.line, c.zone, got, c.want)
		}
	}
}

// TestPlansAreOne: who asks in the middle, as an owner that takes over, gets the same times as who goes from one to the
// next; a line that names a time of the day has one each day, and the clock shows it unless it has skipped it.
func TestPlansAreOne(t *testing.T) {
	t.Parallel()
	for _, zone := range []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Santiago",
		"Asia/Beirut", "Atlantic/Azores", "Africa/Cairo"} {
		in := must.Get(time.LoadLocation(zone))(t)
		begin, end := time.Date(2026, 1, 1, 0, 0, 0, 0, in), time.Date(2027, 1, 1, 0, 0, 0, 0, in)
		for set := begin; set.Before(end); {
			if _, set = set.ZoneBounds(); set.IsZero() {
				break
			}
			for _, line := range []string{"30 2 * * *", "0 0 * * *", "45 23 * * *", "*/15 1-3 * * *", "20,40 2 * * *",
				"0 * * * 0", "0 */6 * * *"} {
				onePlan(t, line, in, set)
			}
		}
	}
}

// onePlan checks a line around the instant at which the clocks are set.
func onePlan(t *testing.T, line string, in *time.Location, set time.Time) {
	t.Helper()
	p := must.Get(cronPlan(&work.Definition{Cron: line, TimeZone: in.String()}))(t)
	from := time.Date(set.Year(), set.Month(), set.Day()-2, 0, 0, 0, 0, in)
	var row []time.Time
	days := map[int]int{}
	for at := p.Next(from.Add(-time.Second)); at.Before(from.Add(5 * 24 * time.Hour)); at = p.Next(at) {
		row = append(row, at)
		days[at.In(in).Day()]++
	}
	for i, at := 0, from; i < len(row)-1; at = at.Add(5 * time.Minute) {
		for !row[i].After(at) {
			i++
		}
		if next := p.Next(at); !next.Equal(row[i]) {
			t.Fatalf("%s in %s: the next one after %s is %s, in a row %s", line, in, at, next, row[i])
		}
	}
	for day := range 3 {
		if at := from.AddDate(0, 0, day+1); strings.HasSuffix(line, " * * *") && strings.Count(line, " ") == 4 &&
			!strings.ContainsAny(line[:5], "*,/") && days[at.Day()] != 1 {
			t.Errorf("%s in %s: %d rounds on %s", line, in, days[at.Day()], at.Format(time.DateOnly))
		}
	}
}

func TestCheckSchedule(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]work.Definition{
		"cron: \"every day\" is not a cron line": {Cron: "every day"},
		"cron: \"@every 1h\" is a period":        {Cron: "@every 1h"},
		"cron: \"0 0 31 2 *\" names a time":      {Cron: "0 0 31 2 *"},
		"time_zone: \"Mars/Olympus\" is not":     {Cron: "0 0 * * *", TimeZone: "Mars/Olympus"},
		"time_zone: that of the machine":         {Cron: "0 0 * * *", TimeZone: "Local"},
		"time_zone: there is no cron line":       {TimeZone: "Europe/Berlin"},
		"catch_up: \"never\" is not a choice":    {Cron: "0 0 * * *", CatchUp: "never"},
		"cron: \"0 0 * * 7\" is not a cron line": {Cron: "0 0 * * 7"},
	} {
		if err := CheckSchedule(&d); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		} else if c, ok := errors.AsType[*work.ConfigError](err); strings.Contains(d.Cron, "7") &&
			(!ok || !strings.HasPrefix(c.Hint, "Sunday is 0")) {
			t.Errorf("of Sunday as 7: %v", err)
		}
	}
}

// TestAFreezeIsTold: a long gap between two steps is reported with its bounds, but only within the lease: after that
// each run reports that it was lost. A nap ends when something is due.
func TestAFreezeIsTold(t *testing.T) {
	t.Parallel()
	var told []Frozen
	s := &Supervisor{clock: func() protocol.Instant { return 100 }}
	s.conf.Events.Frozen = func(f Frozen) { told = append(told, f) }
	at := protocol.Instant(time.Hour)
	s.validUntil.Store(int64(at.Add(2 * frozenAfter)))
	for _, gap := range []time.Duration{0, frozenAfter - 1, frozenAfter, 2 * frozenAfter} {
		at = at.Add(gap)
		s.notice(at)
	}
	if want := (Frozen{at.Add(-3 * frozenAfter), at.Add(-2 * frozenAfter)}); len(told) != 1 || told[0] != want ||
		protocol.Instant(s.ranUntil.Load()) != at.Add(-2*frozenAfter) {
		t.Errorf("told %v, want %v; it ran until %d", told, want, s.ranUntil.Load())
	}
	for wake, want := range map[protocol.Instant]time.Duration{0: longestNap, 50: 0, 107: 7,
		protocol.Instant(time.Hour): longestNap} {
		s.wakeAt = wake
		if got := s.nap(); got != want {
			t.Errorf("due at %d: a nap of %s, want %s", wake, got, want)
		}
	}
}
