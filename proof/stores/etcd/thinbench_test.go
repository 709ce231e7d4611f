package etcd_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store/engine"
	enginelog "github.com/rota-run/rota/store/engine/log"
)

// BenchmarkThinAppend compares appends of today's store with those of the engine over the driver of the spike, by
// callers of one handle and by handles. What the server has received and answered is in the figures.
func BenchmarkThinAppend(b *testing.B) {
	type appender interface {
		Append(ctx context.Context, data []byte) (uint64, error)
	}
	for _, c := range []struct{ handles, callers int }{{1, 1}, {1, 8}, {1, 64}, {2, 2}, {8, 8}} {
		for _, how := range []string{"today", "engine"} {
			b.Run(fmt.Sprintf("handles=%d/callers=%d/%s", c.handles, c.callers, how), func(b *testing.B) {
				o := options()
				handles := make([]appender, c.handles)
				for i := range handles {
					if how == "today" {
						handles[i] = openWith(b, o)
						continue
					}
					rows := engine.NewRows(thinHandle(b, o.Endpoints, o.Prefix, o.Timeout), rand.Text()[:16])
					handles[i] = enginelog.Open(rows, "main")
				}
				for _, h := range handles { // who appends first has more to do
					_, err := h.Append(b.Context(), record)
					must.Succeed(b, err)
				}
				bytes, requests := received(b)
				share(b, c.callers, func(i int) error {
					_, err := handles[i%c.handles].Append(context.Background(), record)
					return err
				})
				b.StopTimer()
				bytesNow, requestsNow := received(b)
				b.ReportMetric((bytesNow-bytes)/float64(b.N), "bytes/op")
				b.ReportMetric((requestsNow-requests)/float64(b.N), "requests/op")
			})
		}
	}
}

// received is how many bytes the shared server has received from clients, and how many requests it has begun.
func received(b *testing.B) (bytes, requests float64) {
	b.Helper()
	where := "http://" + shared.Endpoints()[0] + "/metrics"
	r, err := http.NewRequestWithContext(rig.Deadline(b), http.MethodGet, where, http.NoBody)
	must.Succeed(b, err)
	got, err := http.DefaultClient.Do(r)
	must.Succeed(b, err)
	defer got.Body.Close()
	for lines := bufio.NewScanner(got.Body); lines.Scan(); {
		name, text, _ := strings.Cut(lines.Text(), " ")
		n, err := strconv.ParseFloat(text, 64)
		switch {
		case err != nil:
		case name == "etcd_network_client_grpc_received_bytes_total":
			bytes = n
		case strings.HasPrefix(name, "grpc_server_started_total{"):
			requests += n
		}
	}
	return bytes, requests
}
