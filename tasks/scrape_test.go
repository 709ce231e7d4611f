package tasks

import (
	"fmt"
	"net/http"
	"testing"
	"time"
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
