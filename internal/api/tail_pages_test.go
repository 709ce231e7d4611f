package api_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/api"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/journal"
)

// TestJournalEventsOfManyPages: a client that was away while more records came than a page has gets all of them, each
// once and oldest first.
func TestJournalEventsOfManyPages(t *testing.T) {
	const records = 23_000 // a page has 10,000
	for _, perMS := range []int{100, records} {
		begin := time.Now().Add(-time.Minute).UnixMilli()
		kept := journal.NewMemory(records)
		for i := range records {
			r := journal.Record{AtMS: begin + int64(i/perMS), Kind: journal.Moved, Partition: fmt.Sprint("t", i),
				To: "a"}
			must.Succeed(t, kept.Append(t.Context(), r))
		}
		s := httptest.NewServer(api.Handler(api.Config{Value: func() cluster.Value { return cluster.Value{} },
			Journal: kept}))
		t.Cleanup(s.Close)
		t.Cleanup(http.DefaultClient.CloseIdleConnections)
		stream := listenTo(t, s.URL+"/v1/journal/events", fmt.Sprintf("%d.0", begin))
		for i := range records {
			if e := stream.next(); !strings.Contains(e.data, fmt.Sprintf(`"partition":"t%d"`, i)) {
				t.Fatalf("%d records in a millisecond: record %d is %s", perMS, i, e.data)
			}
		}
	}
}
