package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/api"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/values"
	"github.com/rota-run/rota/internal/proof/virtual"
	"github.com/rota-run/rota/internal/view"
	"github.com/rota-run/rota/journal"
)

// many adds the jobs from first up to last to a value.
func many(t *testing.T, v cluster.Value, first, last int) cluster.Value {
	t.Helper()
	var commands []cluster.Command
	for i := first; i <= last; i++ {
		commands = append(commands, cluster.SubmitJob{
			Job: cluster.JobID(fmt.Sprintf("j%06d", i)),
			Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "noop", Definition: []byte("{}")}},
				Version: strings.Repeat("v", 100)},
		})
	}
	next, _ := v.Apply(values.Entry(v, 0, commands...))
	return next
}

var nextPage = regexp.MustCompile(`^<(.+)>; rel="next"$`)

// follow asks for a list and for all its pages, and returns the field of each element. Between two pages it calls
// between.
func follow(t *testing.T, h http.Handler, path, field string, between func()) (all []string, pages int) {
	t.Helper()
	for path != "" {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://127.0.0.1"+path, nil))
		var page []map[string]any
		if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil || w.Code != http.StatusOK {
			t.Fatalf("%s: %d, %v", path, w.Code, err)
		}
		for _, e := range page {
			all = append(all, fmt.Sprint(e[field]))
		}
		if limit, err := strconv.Atoi(w.Header().Get("Rota-Limit")); err != nil || len(page) > limit {
			t.Fatalf("%s: %d of at most %d, %v", path, len(page), limit, err)
		}
		path = ""
		if m := nextPage.FindStringSubmatch(w.Header().Get("Link")); m != nil {
			path = m[1]
		}
		pages++
		between()
	}
	return all, pages
}

// TestPagesCoverAListOnce: what is there from the first page to the last is in exactly one page, while tasks come
// before and after the cursor.
func TestPagesCoverAListOnce(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/v1/tasks?limit=7", "/v1/jobs?limit=7", "/v1/tasks?state=waiting&limit=1",
		"/v1/tasks?limit=15", "/v1/tasks?limit=29"} {
		v := many(t, cluster.Value{}, 100, 129)
		h := api.Handler(api.Config{Value: func() cluster.Value { return v }})
		low, high := 0, 200
		field := map[bool]string{true: "job", false: "task"}[strings.HasPrefix(path, "/v1/jobs")]
		got, pages := follow(t, h, path, field, func() {
			if high < 205 {
				v = many(t, many(t, v, low, low), high, high)
				low, high = low+1, high+1
			}
		})
		if pages < 2 {
			t.Errorf("%s: %d pages", path, pages)
		}
		if !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
			t.Errorf("%s: not each once, in order: %v", path, got)
		}
		for i := 100; i < 130; i++ {
			if name := fmt.Sprintf("j%06d", i); !slices.Contains(got, name) {
				t.Errorf("%s: %s is missing", path, name)
			}
		}
	}
}

func TestAListHasABoundByDefault(t *testing.T) {
	t.Parallel()
	v := many(t, cluster.Value{}, 1, 2500)
	h := api.Handler(api.Config{Value: func() cluster.Value { return v }})
	for path, want := range map[string]int{"/v1/tasks": 3, "/v1/jobs": 3, "/v1/tasks?limit=10000": 1,
		"/v1/tasks?limit=2500": 1} {
		field := map[bool]string{true: "job", false: "task"}[strings.HasPrefix(path, "/v1/jobs")]
		got, pages := follow(t, h, path, field, func() {})
		if len(got) != 2500 || pages != want {
			t.Errorf("%s: %d elements in %d pages, want %d pages", path, len(got), pages, want)
		}
	}
}

// TestJournalPages: all records are in exactly one page each, newest page first, also where many are of one millisecond
// and more are written.
func TestJournalPages(t *testing.T) {
	t.Parallel()
	m := journal.NewMemory(10_000)
	add := func(at int64, n int) {
		for i := range n {
			must.Succeed(t, m.Append(t.Context(),
				journal.Record{AtMS: at, Kind: journal.RunError, Message: fmt.Sprintf("%d/%d", at, i)}))
		}
	}
	add(1, 3)
	add(2, 20)
	add(3, 1)
	add(5, 7)
	h := api.Handler(api.Config{Value: func() cluster.Value { return cluster.Value{} }, Journal: m})
	got, pages := follow(t, h, "/v1/journal?limit=7", "message", func() { add(9, 1) })
	slices.Sort(got)
	if len(got) != 31 || len(slices.Compact(got)) != 31 || pages != 5 {
		t.Errorf("%d pages: %v", pages, got)
	}
	if w := request(api.Config{Value: func() cluster.Value { return cluster.Value{} }, Journal: m}, "GET",
		"/v1/journal", nil); w.Header.Get("Rota-Limit") != "1000" {
		t.Errorf("the default limit is not said: %v", w.Header)
	}
}

// TestTheJournalIsAskedByKindAndTime: pages have what was asked for, and the query of the next page has it too.
func TestTheJournalIsAskedByKindAndTime(t *testing.T) {
	t.Parallel()
	m, now := journal.NewMemory(100), time.Now().UnixMilli()
	for i, k := range []journal.Kind{journal.Moved, journal.Asked, journal.RunError, journal.Moved} { // 4 h to 1 h old
		r := journal.Record{AtMS: now - int64(4-i)*3_600_000 - 60_000, Kind: k, Message: fmt.Sprint(4-i, " h")}
		must.Succeed(t, m.Append(t.Context(), r))
	}
	c := api.Config{Value: func() cluster.Value { return cluster.Value{} }, Journal: m}
	for query, want := range map[string]string{
		"": "[1 h 2 h 3 h 4 h]", "&kind=moved": "[1 h 4 h]", "&kind=moved&kind=asked": "[1 h 3 h 4 h]",
		"&kind=":    "[1 h 2 h 3 h 4 h]",
		"&until=2h": "[2 h 3 h 4 h]", "&until=2h&since=4h": "[2 h 3 h]", "&until=90m&kind=moved": "[4 h]",
		"&kind=parked": "[]",
	} { // order-free: each by itself
		if got, _ := follow(t, api.Handler(c), "/v1/journal?limit=1"+query, "message",
			func() {}); fmt.Sprint(got) != want {
			t.Errorf("%s: %v, want %s", query, got, want)
		}
	}
}

// watched is a response that looks at the heap when the first part of the answer arrives.
type watched struct {
	*httptest.ResponseRecorder
	before, during uint64
	largest, total int
	fail           error
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func (w *watched) Write(b []byte) (int, error) {
	if w.total == 0 {
		w.during = heap()
	}
	w.largest, w.total = max(w.largest, len(b)), w.total+len(b)
	return len(b), w.fail
}

// TestASlowReaderHoldsNoList: while the first part of a list of 10,000 tasks is being sent, neither the list nor its
// encoding is in memory.
func TestASlowReaderHoldsNoList(t *testing.T) { //nolint:paralleltest // it measures the heap
	v := many(t, cluster.Value{}, 1, 10_000)
	h := api.Handler(api.Config{Value: func() cluster.Value { return v }})
	w := &watched{ResponseRecorder: httptest.NewRecorder()}
	r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1/v1/tasks?limit=10000", nil)
	w.before = heap()
	h.ServeHTTP(w, r)
	if grown := int64(w.during) - int64(w.before); w.total < 500_000 || w.largest > 32<<10 || grown > 256<<10 {
		t.Errorf("an answer of %d bytes: parts of up to %d bytes, the heap grew by %d", w.total, w.largest, grown)
	}
	runtime.KeepAlive(v)
}

// stuckReader takes nothing until its gate opens.
type stuckReader struct {
	*httptest.ResponseRecorder
	gate chan struct{}
}

func (s stuckReader) Write(b []byte) (int, error) {
	<-s.gate
	return s.ResponseRecorder.Write(b)
}

// TestSlowReadersKeepNoTurn: however many readers take nothing, of a list of one part or of several, another one gets
// its answer.
func TestSlowReadersKeepNoTurn(t *testing.T) {
	for _, limit := range []int{5, 500} {
		t.Run(strconv.Itoa(limit), func(t *testing.T) { slowReaders(t, limit) })
	}
}

func slowReaders(t *testing.T, limit int) {
	virtual.Test(t, func(t *testing.T) {
		v := many(t, cluster.Value{}, 1, 500)
		h := api.Handler(api.Config{Value: func() cluster.Value { return v }})
		gate := make(chan struct{})
		ask := func(w http.ResponseWriter) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet,
				fmt.Sprintf("http://127.0.0.1/v1/tasks?limit=%d", limit), nil))
		}
		for range 10 {
			go ask(stuckReader{httptest.NewRecorder(), gate})
		}
		synctest.Wait()
		w := httptest.NewRecorder()
		ask(w)
		var tasks []view.Task
		if err := json.Unmarshal(w.Body.Bytes(), &tasks); err != nil || len(tasks) != limit {
			t.Errorf("got %d tasks, %v", len(tasks), err)
		}
		close(gate)
	})
}

func TestAListEndsWhenItsReaderIsGone(t *testing.T) {
	t.Parallel()
	v := many(t, cluster.Value{}, 1, 5000)
	w := &watched{ResponseRecorder: httptest.NewRecorder(), fail: errors.New("gone")}
	h := api.Handler(api.Config{Value: func() cluster.Value { return v }})
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://127.0.0.1/v1/tasks?limit=5000", nil))
	if w.total > 32<<10 {
		t.Errorf("%d bytes were sent to a reader that is gone", w.total)
	}
	if got, _ := follow(t, h, "/v1/tasks?limit=5000", "task", func() {}); len(got) != 5000 {
		t.Errorf("the next reader got %d tasks", len(got))
	}
}
