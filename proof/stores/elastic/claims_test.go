package elastic_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/pages"
	"github.com/rota-run/rota/internal/protocol/lease"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/protocol"
)

// names are those of fields; no value has such a text.
var names = regexp.MustCompile(`"([a-z_]+)":`)

// shown is a document as curl shows it.
type shown struct {
	path   string // in the server, below the index
	key    string
	fields []string // of its value, in their order
	value  string
}

// read takes the answer of the server apart.
func (s *shown) read(t *testing.T, answer string) {
	t.Helper()
	var a struct {
		Source struct {
			Key   string          `json:"key"`
			Value json.RawMessage `json:"value"`
		} `json:"_source"`
	}
	if err := json.Unmarshal([]byte(answer), &a); err != nil {
		t.Fatalf("%s: %v", answer, err)
	}
	s.key, s.fields = strings.TrimPrefix(a.Source.Key, "d/"), nil
	s.value = string(a.Source.Value)
	for _, m := range names.FindAllSubmatch(a.Source.Value, -1) {
		s.fields = append(s.fields, string(m[1]))
	}
}

// guided are the documents that the page of the store shows of the protocol lease.
func guided(t *testing.T) (all []shown) {
	t.Helper()
	page := must.Get(os.ReadFile("../../../docs/stores/elastic.md"))(t)
	blocks := must.Get(pages.Blocks(string(page)))(t)
	for _, b := range blocks {
		if b.Section != "What lies there under lease" {
			continue
		}
		for _, part := range strings.Split(b.Text, "$ curl -s ")[1:] {
			address, answer, _ := strings.Cut(part, "\n")
			_, path, _ := strings.Cut(address, "/rota/")
			s := shown{path: path}
			s.read(t, answer)
			all = append(all, s)
		}
	}
	return all
}

// TestDocumentsOfLease: the lock of the leader, the Node List, a heartbeat and a partition are in the index as the page
// of the store shows them, with all that the source document elasticsearch-cluster-state has in them, but for expire.
func TestDocumentsOfLease(t *testing.T) {
	want := guided(t)
	source := map[string][]string{"lock/leader": {"holder"}, "nodes": {"nodes", "token", "workers"},
		"partition/": {"holder", "task", "state"}, "job/": {"type", "definition"}}
	for prefix, fields := range source {
		i := slices.IndexFunc(want, func(s shown) bool { return strings.HasPrefix(s.key, prefix) })
		if i < 0 {
			t.Fatalf("the page does not show %s", prefix)
		}
		for _, f := range fields {
			if !slices.Contains(want[i].fields, f) {
				t.Errorf("the page shows %s without %s: it has %q", prefix, f, want[i].fields)
			}
		}
	}
	each(t, func(t *testing.T, s *shared) {
		o := s.options(t)
		st := openWith(t, o)
		m, err := lease.Protocol{}.New(protocol.Config{Member: "web-1", Store: st, TTL: 4 * time.Second, Slots: 5,
			Capacity: 9})
		must.Succeed(t, err)
		ctx, stop := context.WithCancel(rig.LongDeadline(t))
		ended := make(chan error, 1)
		go func() { ended <- m.Run(ctx) }()
		t.Cleanup(func() {
			stop()
			<-ended
		})
		client := must.Get(lease.Protocol{}.Client(st))(t)
		spec := cluster.JobSpec{Version: "1", Tasks: []cluster.TaskSpec{{
			Type: "tail", Spread: cluster.SpreadPartitioned, Partitions: []string{"a"},
			Definition: []byte(`{"config":{"paths":["/var/log/app.log"]}}`),
		}}}
		must.Succeed(t, must.Err(client.Propose(ctx, cluster.SubmitJob{Job: "logs", Spec: spec})))
		for _, w := range want {
			if strings.HasPrefix(w.key, "node/") {
				continue // its name is that of the session
			}
			var got shown
			rig.Eventually(t, "the server shows "+w.key+" as the page does", func() bool {
				status, answer := rest(t, s.Server(t).Servers(), http.MethodGet, "/"+o.Index+"/"+w.path, "")
				if status == http.StatusOK {
					got.read(t, string(answer))
				}
				return slices.Equal(got.fields, w.fields) && got.key == w.key
			})
			for field, value := range map[string]string{"workers": "5",
				"definition": `{"config":{"paths":["/var/log/app.log"]}}`} { // order-free: each by itself
				if slices.Contains(got.fields, field) &&
					!strings.Contains(got.value, fmt.Sprintf("%q:%s", field, value)) {
					t.Errorf("%s has another %s than %s: %s", w.key, field, value, got.value)
				}
			}
		}
	})
}
