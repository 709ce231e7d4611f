package tasks

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/work/worktest"
)

const page = `# HELP up help
# TYPE http_requests_total counter
http_requests_total{code="200",member="m",partition="p",task="x"} 7 1700000000123
http_requests_total{code="500",task="x"} 1
# TYPE rpc histogram
rpc_bucket{le="1"} 3
rpc_bucket{le="+Inf"} 5
rpc_sum 4.5
rpc_count 5
# TYPE lag summary
lag{quantile="0.5"} 0.25
lag_sum 9
lag_count 2
process_open_fds 12
temperature NaN
`

func TestScrape(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, page) })
	h, err := round(t, local, "scrape", object{"url": s.URL})
	wantUp(t, h, "scrape", err)
	got := map[string]float64{}
	for _, s := range h.Samples() {
		delete(s.Tags, "member")
		got[fmt.Sprint(s.Name, s.Tags)] = s.Points[0].Value
	}
	for key, want := range map[string]float64{
		"http_requests_totalmap[code:200 exported_member:m exported_partition:p exported_task:x task:test]": 7,
		"rpc_bucketmap[le:1 task:test]":    3,
		"rpc_bucketmap[le:+Inf task:test]": 5,
		"rpc_summap[task:test]":            4.5,
		"rpc_countmap[task:test]":          5,
		"lagmap[quantile:0.5 task:test]":   0.25,
		"process_open_fdsmap[task:test]":   12,
		"scrape.samplesmap[task:test]":     11,
	} {
		if v, ok := got[key]; !ok || v != want {
			t.Errorf("%s is %v (there: %v), want %v", key, v, ok, want)
		}
	}
	requests := h.Named("http_requests_total")
	if requests[0].Points[0].AtMS != 1700000000123 {
		t.Errorf("a time stamp of the page was lost: %v", requests[0])
	}
	if age := time.Since(time.UnixMilli(requests[1].Points[0].AtMS)); age < 0 || age > time.Minute {
		t.Errorf("a sample without time stamp is %v old, want that of the round", age)
	}
}

// bomb is a page of n lines, compressed: 4 M lines of 4 bytes are 16 KB.
func bomb(t *testing.T, line string, n int) []byte {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	block := strings.Repeat(line, 1000)
	for range n / 1000 {
		must.Succeed(t, must.Err(io.WriteString(zip, block)))
	}
	must.Succeed(t, zip.Close())
	return out.Bytes()
}

// TestScrapeOfAZipBomb: such a page cost 2.5 GB, and took one member after the other with it. It is not parallel: it
// measures what is allocated.
func TestScrapeOfAZipBomb(t *testing.T) {
	zipped := bomb(t, "a 1\n", 4<<20)
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(zipped)
	})
	for _, c := range []struct {
		config object
		says   string
	}{
		{object{"url": s.URL}, "more than 10000 samples; max_samples raises the limit, to 100000 at most"},
		{object{"url": s.URL, "metrics": []string{"b"}},
			"more than 500000 lines; max_lines raises the limit, to 2000000 at most"},
	} {
		g, h := worktest.NewGrant(t, define(t, c.config))
		var log strings.Builder
		g.Log = textLog(&log)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := worktest.Run(t, Builtin(local)["scrape"], g)
		runtime.ReadMemStats(&after)
		wantDown(t, h, "scrape", "limit", err)
		if !strings.Contains(log.String(), c.says) {
			t.Errorf("the log %q does not say %q", log.String(), c.says)
		}
		if c.config["metrics"] == nil {
			got := after.TotalAlloc - before.TotalAlloc
			t.Logf("%d MB allocated", got>>20)
			if got > 64<<20 {
				t.Errorf("%d MB allocated, want at most 64", got>>20)
			}
		}
	}
}

// heapReader notes how much is alive on the heap, once for each of its pieces.
type heapReader struct {
	in    io.Reader
	every int
	read  int
	most  uint64
}

func (r *heapReader) Read(b []byte) (int, error) {
	n, err := r.in.Read(b)
	if r.read/r.every != (r.read+n)/r.every {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		r.most = max(r.most, m.HeapAlloc)
	}
	r.read += n
	return n, err
}

// TestScrapePageHoldsWhatIsWanted: lines that nobody asked for are not kept, however many there are.
func TestScrapePageHoldsWhatIsWanted(t *testing.T) {
	zip, err := gzip.NewReader(bytes.NewReader(bomb(t, "# a comment\na{b=\"c\"} 1\n", 1<<20)))
	must.Succeed(t, err)
	c := scrapeConfig{Metrics: []string{"b"}, MaxLines: 2_000_000, MaxBytes: 64 << 20}
	c.check(&faults{})
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	r := &heapReader{in: zip, every: 1 << 20}
	_, err = c.parse(r, time.Unix(1, 0))
	var un *unexpected
	if !errors.As(err, &un) || un.reason != "limit" {
		t.Errorf("got %v, want a limit", err)
	}
	held := int64(r.most) - int64(before.HeapAlloc)
	t.Logf("%d KB held", held>>10)
	if r.most == 0 || held > 8<<20 {
		t.Errorf("%d MB held, want at most 8", held>>20)
	}
}

func TestScrapeLimits(t *testing.T) {
	t.Parallel()
	many := func(n int, line string) string { return strings.Repeat(line, n) }
	for _, c := range []struct {
		name, page, says string
		config           scrapeConfig
	}{
		{"samples", many(4, "a 1\n"), "more than 3 samples; max_samples", scrapeConfig{MaxSamples: 3}},
		{"samples without end of line", "a 1\na 1\na 1", "more than 2 samples", scrapeConfig{MaxSamples: 2}},
		{"lines", many(4, "\n"), "more than 3 lines; max_lines", scrapeConfig{MaxLines: 3}},
		{"comments", many(4, "# x\n"), "more than 3 lines; max_lines", scrapeConfig{MaxLines: 3}},
		{"bytes", many(4, "a 1\n"), "more than 15 bytes; max_bytes", scrapeConfig{MaxBytes: 15}},
		{"types", "# TYPE a counter\n# TYPE b counter\n", "TYPE lines than max_samples", scrapeConfig{MaxSamples: 1}},
		{"labels", "a{" + many(20, `b="c",`) + "} 1\n", "more than 16 labels", scrapeConfig{MaxSamples: 1}},
		{"a long line", "a 1\n# " + many(maxPageLine, "x") + "\n", "line 2 of the page is longer", scrapeConfig{}},
		{"a histogram", "# TYPE a histogram\na_bucket{le=\"1\"} 1\n", "more than 1 samples",
			scrapeConfig{MaxSamples: 1}},
		{"no types", "# HELP a b\n# HELP c d\na 1\n", "", scrapeConfig{MaxSamples: 1}},
		{"no limit", many(3, "a 1\n"), "", scrapeConfig{MaxSamples: 3, MaxLines: 3, MaxBytes: 12}},
		{"what nobody asked for", many(9, "a 1\n") + "b 1\n", "", scrapeConfig{MaxSamples: 1, Metrics: []string{"b"}}},
		{"a fault in it", many(9, "a 1\n") + "b 1\n\n<html>\n", "line 12: ",
			scrapeConfig{MaxSamples: 1, Metrics: []string{"b"}}},
	} {
		c.config.check(&faults{})
		_, err := c.config.parse(strings.NewReader(c.page), time.Unix(1, 0))
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.says)
		}
	}
}

// TestScrapeFaultFarBehind: line numbers are those of the page, after checks of what nobody asked for too.
func TestScrapeFaultFarBehind(t *testing.T) {
	t.Parallel()
	for _, metrics := range [][]string{nil, {"a"}, {"b"}} {
		c := scrapeConfig{Metrics: metrics, MaxSamples: 100_000}
		c.check(&faults{})
		_, err := c.parse(strings.NewReader(strings.Repeat("a 1\n# b\n", 20_000)+"a one\n"), time.Unix(1, 0))
		if err == nil || !strings.Contains(err.Error(), "line 40001: ") {
			t.Errorf("%v: got %v, want line 40001", metrics, err)
		}
	}
}

// reference is what the library makes of a page without limits.
func (c *scrapeConfig) reference(page []byte, at time.Time) (model.Vector, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(page))
	if err != nil {
		return nil, err
	}
	var wanted []*dto.MetricFamily
	for _, name := range slices.Sorted(maps.Keys(families)) {
		if c.wants(name) {
			wanted = append(wanted, families[name])
		}
	}
	return expfmt.ExtractSamples(&expfmt.DecodeOptions{Timestamp: model.TimeFromUnixNano(at.UnixNano())}, wanted...)
}

// TestScrapeOfOneMetric: it has all the samples that the library finds, however the page writes its name and type.
func TestScrapeOfOneMetric(t *testing.T) {
	t.Parallel()
	const kind = " a_bucket{le=\"+Inf\"} 5\n a_sum 4.5\n a_count 5\n"
	for _, c := range []struct{ page, metric string }{
		{page, "rpc"}, {page, "lag"}, {"# TYPE a HISTOGRAM\n" + kind, "a"}, {"# TYPE a gaugehistogram\n" + kind, "a"},
		{"# TYPE a gauge_histogram\n" + kind, "a"}, {"\t# TYPE a summary\n a_sum 1\n a_count 1\n", "a"},
		{"b 1\n{\"a b\"} 1\n", "a b"}, {`{"a\"b",c="d"} 1` + "\n", `a"b`},
	} {
		conf := scrapeConfig{Metrics: []string{c.metric}}
		conf.check(&faults{})
		got, err := conf.parse(strings.NewReader(c.page), time.Unix(1, 0))
		want := must.Get(conf.reference([]byte(c.page), time.Unix(1, 0)))(t)
		if err != nil || len(got) == 0 || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%q: got %v, %v\nwant %v", c.page, got, err, want)
		}
	}
}

// FuzzScrapePage feeds any bytes as a page: within its limits it has the samples that the library finds, and no other
// page is taken.
func FuzzScrapePage(f *testing.F) {
	f.Add([]byte(page), "")
	f.Add([]byte(page), "rpc")
	f.Add([]byte(page), "process_*")
	f.Add([]byte("a{b=\"c\"} 1 1e99\n"), "a")
	f.Add([]byte("{\"a b\",c=\"d\"} 1\n# TYPE \"a b\" gauge\n"), "a*")
	f.Fuzz(func(t *testing.T, b []byte, metric string) {
		c := scrapeConfig{MaxSamples: 1000, MaxLines: 1000, MaxBytes: 1 << 20}
		if metric != "" {
			c.Metrics = []string{metric}
		}
		got, err := c.parse(bytes.NewReader(b), time.Unix(1, 0))
		want, wantErr := c.reference(b, time.Unix(1, 0))
		var un *unexpected
		switch {
		case err == nil && len(got) > c.MaxSamples:
			t.Fatalf("%d samples passed the limit", len(got))
		case errors.As(err, &un) && un.reason == "limit":
		case metric == "" && err == nil != (wantErr == nil):
			t.Fatalf("got %v, want %v", err, wantErr)
		case metric == "" && fmt.Sprint(got) != fmt.Sprint(want):
			t.Fatalf("got %v, want %v", got, want)
		case err != nil && wantErr == nil:
			t.Fatalf("a sound page is refused: %v", err)
		}
	})
}
