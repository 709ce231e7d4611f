package browser_test

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/api"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/values"
	"github.com/rota-run/rota/proof/browser"
)

// speedVariable asks that times are judged too: on a machine that has nothing else to do.
const speedVariable = "ROTA_TEST_SPEED"

// judge logs a figure, and fails where it is too large and times are judged.
func judge(t *testing.T, what string, took, most time.Duration) {
	t.Helper()
	t.Logf("%s: %d ms, at most %d ms", what, took.Milliseconds(), most.Milliseconds())
	if os.Getenv(speedVariable) != "" && took > most {
		t.Errorf("%s: %v, at most %v", what, took, most)
	}
}

// changing is a served value that tests change.
type changing struct {
	value atomic.Pointer[cluster.Value]
	url   string
}

func serveLarge(t *testing.T) *changing {
	t.Helper()
	c := &changing{}
	v := large(t)
	c.value.Store(&v)
	s := httptest.NewServer(api.Handler(api.Config{Value: func() cluster.Value { return *c.value.Load() }}))
	t.Cleanup(s.Close)
	c.url = s.URL
	return c
}

func (c *changing) apply(t *testing.T, command cluster.Command) {
	t.Helper()
	v := *c.value.Load()
	v = values.Apply(t, v, values.Entry(v, 2000, command))
	c.value.Store(&v)
}

// TestSpeedOfThePage measures how soon 100,000 tasks are on the screen, and a change of one of them.
func TestSpeedOfThePage(t *testing.T) {
	w := browser.Open(t)
	c := serveLarge(t)
	w.Go(c.url + "/#tasks")
	w.Await("the first rows are shown", `document.querySelectorAll(".row").length > 10`)
	judge(t, "first rows of 100,000 tasks",
		time.Duration(browser.Ask[float64](w, `performance.now()`)*float64(time.Millisecond)), time.Second)
	judge(t, "first contentful paint", time.Duration(browser.Ask[float64](w,
		`performance.getEntriesByName("first-contentful-paint")[0]?.startTime || 0`)*float64(time.Millisecond)),
		time.Second)
	w.Await("all are known", has("main p", "100,000 tasks")+
		` && !document.getElementById("summary").textContent.includes("loading")`)
	t.Logf("all 100,000 known after %.0f ms", browser.Ask[float64](w, `performance.now()`))
	began := time.Now()
	c.apply(t, cluster.SubmitJob{Job: "a-new-one", Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "noop"}}}})
	w.Await("the change is on the screen", has(".row .name", "a-new-one"))
	judge(t, "a change until it is on the screen", time.Since(began), time.Second)
	w.Go("about:blank")
}

// TestManyPages opens 100 streams and reads all tasks for each: what the member's process needs for them is bounded.
func TestManyPages(t *testing.T) {
	c := serveLarge(t)
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc + m.StackInuse
	}
	before := heap()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	var streams []*bufio.Reader
	for range 100 {
		r := must.Get(client.Get(c.url + "/v1/events"))(t)
		t.Cleanup(func() { r.Body.Close() })
		streams = append(streams, bufio.NewReader(r.Body))
	}
	next := func(s *bufio.Reader, what string) {
		for {
			line := must.Get(s.ReadString('\n'))(t)
			if strings.HasPrefix(line, "event: "+what) {
				return
			}
		}
	}
	for _, s := range streams {
		next(s, "begin")
	}
	for range 20 { // other values, that streams hold on to
		c.apply(t, cluster.SubmitJob{Job: cluster.JobID("x" + time.Now().Format("150405.000000000")),
			Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "noop"}}}})
	}
	for _, s := range streams {
		next(s, "changed")
	}
	for range 3 {
		if r, err := client.Get(c.url + "/v1/tasks?limit=5000"); err != nil || r.Body.Close() != nil {
			t.Fatal(err)
		}
	}
	after := heap()
	grown := (float64(after) - float64(before)) / (1 << 20)
	t.Logf("100 open pages: %.1f MB more, both ends of the connections counted", grown)
	if grown > 50 {
		t.Errorf("100 open pages need %.1f MB more, at most 50", grown)
	}
}
