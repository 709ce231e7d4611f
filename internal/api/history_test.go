package api_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/call"
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/api"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/values"
	"github.com/rota-run/rota/internal/view"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// log is a history of jobs, one a second, that begins after a snapshot of two.
type log struct {
	values  []cluster.Value
	entries []cluster.Entry
	begin   int
	err     error
}

func newLog(t *testing.T, begin int, times ...int64) *log {
	t.Helper()
	l := &log{values: []cluster.Value{{}}, begin: begin}
	for i, at := range times {
		e := values.Entry(l.values[i], at, cluster.SubmitJob{Job: cluster.JobID(fmt.Sprintf("j%d", i+1)),
			Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "noop"}}}})
		l.values, l.entries = append(l.values, values.Apply(t, l.values[i], e)), append(l.entries, e)
	}
	return l
}

func (l *log) Oldest(context.Context, protocol.Store) (cluster.Value, error) {
	return l.values[l.begin], l.err
}

func (l *log) History(_ context.Context, _ protocol.Store, after cluster.Index,
	yield func(cluster.Value, protocol.Applied) bool) error {
	for i := l.begin; i < len(l.entries); i++ {
		if l.entries[i].Index > after && !yield(l.values[i+1], protocol.Applied{Entry: l.entries[i]}) {
			return l.err
		}
	}
	return l.err
}

// TestEntries: the newest, with how many there are before them; and pages, of which the last knows that it is the last.
func TestEntries(t *testing.T) {
	t.Parallel()
	const all = 11
	p := &view.Past{Historian: newLog(t, 0, make([]int64, all)...)}
	for most := 1; most <= all+1; most++ {
		entries, before, err := p.Newest(t.Context(), most)
		if n := min(most, all); err != nil || len(entries) != n || before != all-n ||
			entries[0].Index != uint64(before+1) { //nolint:gosec // small
			t.Errorf("newest %d: %d entries, %d before them, %v", most, len(entries), before, err)
		}
		entries, more, err := p.After(t.Context(), 1, most)
		if n := min(most, all-1); err != nil || len(entries) != n || more != (n < all-1) || entries[0].Index != 2 {
			t.Errorf("after 1, %d: %d entries, more %t, %v", most, len(entries), more, err)
		}
	}
}

// TestAsOf: the position with the fewest entries on the wrong side of an instant; one clock that is far off decides
// nothing.
func TestAsOf(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		times []int64
		at    int64
		want  uint64
	}{
		"before all":        {[]int64{1000, 2000, 3000}, 500, 0},
		"on one":            {[]int64{1000, 2000, 3000}, 2000, 2},
		"between":           {[]int64{1000, 2000, 3000}, 2500, 2},
		"after all":         {[]int64{1000, 2000, 3000}, 9000, 3},
		"a fast clock":      {[]int64{1000, 99_000, 2000, 3000, 4000}, 3500, 4},
		"a slow clock":      {[]int64{1000, 2000, 3000, 4000, 5000, 10}, 2500, 2},
		"as good as before": {[]int64{1000, 5000, 2000}, 2500, 3},
		"same millisecond":  {[]int64{1000, 1000, 1000}, 1000, 3},
	} {
		m, err := (&view.Past{Historian: newLog(t, 0, c.times...)}).AsOf(t.Context(), c.at)
		if err != nil || m.Index != c.want {
			t.Errorf("%s: %v, index %d, want %d", name, err, m.Index, c.want)
		}
	}
	m, err := (&view.Past{Historian: newLog(t, 0, 1000, 9000, 8000, 2000)}).AsOf(t.Context(), 1000)
	if err != nil || m.SkewMS != 7000 {
		t.Errorf("%v, the clocks differ by %d", err, m.SkewMS)
	}
	if _, err := (&view.Past{Historian: newLog(t, 0)}).AsOf(t.Context(), 1); err == nil {
		t.Error("an empty log has a history")
	}
}

// TestJournalEvents: records come as they are written, a late one too, each once; a stream that goes on repeats no more
// than a minute.
func TestJournalEvents(t *testing.T) {
	now := time.Now().UnixMilli()
	kept := journal.NewMemory(100)
	add := func(at int64, task string) {
		must.Succeed(t, kept.Append(t.Context(), journal.Record{AtMS: at, Kind: journal.Moved, Partition: task,
			To: "a"}))
	}
	s := httptest.NewServer(api.Handler(api.Config{Value: func() cluster.Value { return cluster.Value{} },
		Journal: kept}))
	t.Cleanup(s.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	add(now-300_000, "old")
	stream := listenTo(t, s.URL+"/v1/journal/events", "")
	add(now+1000, "one")
	one := stream.next()
	add(now-200_000, "late")
	late := stream.next()
	add(now+2000, "two")
	two := stream.next()
	for want, e := range map[string]event{"one": one, "late": late, "two": two} {
		if e.name != "record" || !strings.Contains(e.data, `"partition":"`+want+`"`) {
			t.Errorf("got %+v, want %s", e, want)
		}
	}
	again := listenTo(t, s.URL+"/v1/journal/events?task=two", two.id)
	if e := again.next(); e.id != two.id {
		t.Errorf("got %+v, want the last record again: it names itself %s", e, two.id)
	}
	must.Succeed(t, kept.Append(t.Context(), journal.Record{AtMS: now + 3000, Kind: journal.Asked, Message: "drain"}))
	if e := listenTo(t, s.URL+"/v1/journal/events?kind=asked", one.id).next(); !strings.Contains(e.data, "drain") {
		t.Errorf("got %+v, want the first of the kind", e)
	}
	add(now-20_000, "missed") // it is of before the last event, and came after it
	from := listenTo(t, s.URL+"/v1/journal/events", one.id)
	if e := from.next(); !strings.Contains(e.data, `"partition":"missed"`) {
		t.Errorf("got %+v, want what came late", e)
	}
	for _, want := range []event{one, two} {
		if e := from.next(); e != want {
			t.Errorf("got %+v, want %+v", e, want)
		}
	}
}

// TestLogInTheAPI shows the newest entries, or pages of those that follow an index.
func TestLogInTheAPI(t *testing.T) {
	t.Parallel()
	l := newLog(t, 2, 1000, 2000, 3000, 4000, 5000)
	c := api.Config{Value: func() cluster.Value { return l.values[5] }, Past: &view.Past{Historian: l}}
	for query, want := range map[string]string{
		"": "[3 4 5]", "?limit=2": "[4 5]", "?after=0&limit=1": "[3 4 5]", "?after=3&limit=1": "[4 5]",
		"?after=3&limit=2": "[4 5]", "?after=9": "[]",
	} { // order-free: each by itself
		if got, _ := follow(t, api.Handler(c), "/v1/log"+query, "index", func() {}); fmt.Sprint(got) != want {
			t.Errorf("%s: %v, want %s", query, got, want)
		}
	}
}

// TestCallsInTheAPI pages through calls, of a state where it is asked for, shows no argument, and counts what cannot be
// read.
func TestCallsInTheAPI(t *testing.T) {
	t.Parallel()
	docs := memory.New().Open()
	client, err := call.NewClient(docs, call.ClientOptions{Queue: "importer"})
	must.Succeed(t, err)
	defer client.Close()
	var ids []string
	for i := range 3 {
		h, err := client.Submit(t.Context(), "resize", []byte(`{"password":"hidden"}`),
			call.Options{Key: fmt.Sprint(i)})
		must.Succeed(t, err)
		ids = append(ids, h.ID())
	}
	c := api.Config{Value: func() cluster.Value { return cluster.Value{} },
		Lookout: view.NewLookout(docs, protocol.Now)}
	for query, want := range map[string]string{"limit=2": fmt.Sprint(ids), "limit=1&state=queued": fmt.Sprint(ids),
		"state=running": "[]"} { // order-free: each by itself
		if got, _ := follow(t, api.Handler(c), "/v1/calls?"+query, "call", func() {}); fmt.Sprint(got) != want {
			t.Errorf("%s: %v, want %s", query, got, want)
		}
	}
	at, _, _ := strings.Cut(ids[0], "/")
	page := strings.Split(ids[0], "/")[1]
	_, err = docs.Put(t.Context(), store.Doc{Key: "call/" + at + "/" + page + "/zzz", Value: []byte("{")})
	must.Succeed(t, err)
	r := request(c, "GET", "/v1/calls", nil)
	if r.Header.Get("Rota-Unreadable") != "1" {
		t.Errorf("one cannot be read, and it says %q", r.Header.Get("Rota-Unreadable"))
	}
	if got := body(t, r); strings.Contains(got, "hidden") || !strings.Contains(got, `"f":"resize"`) {
		t.Errorf("it shows %s", got)
	}
}

// TestConfigure changes what is named, and refuses the rest.
func TestConfigure(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"?retention=7&job_scheduler=greedy": cluster.Configure{JobScheduler: "greedy", Retention: 7}.String(),
		"?move_budget=0":                    cluster.Configure{MoveBudget: cluster.NoMoves}.String(),
		"":                                  "", "?retention=0": "", "?retention=x": "", "?move_budget=-1": "", "?color=red": "",
		"?retention=0&job_scheduler=greedy": "", "?format=99999999999": "",
	} { // order-free: each by itself
		done := &acting{answer: cluster.Result{Accepted: true}}
		r := request(done.config(t), "POST", "/v1/configure"+query, trusted)
		said := strings.TrimPrefix(strings.Join(done.said, " "), "cluster.Configure ")
		if code := map[bool]int{true: 400, false: 200}[want == ""]; r.StatusCode != code || said != want {
			t.Errorf("%s: %s, the cluster was told %q, want %q", query, r.Status, said, want)
		}
	}
}
