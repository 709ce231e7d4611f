package api

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/operate"
)

// settingParameters are those of rota cluster set.
var settingParameters = []parameter{ // read-only: a table
	{name: "job_scheduler", summary: "how slots are shared among jobs: round-robin, greedy, percentage", kind: "string"},
	{name: "retention", summary: "how many jobs that have ended stay visible", kind: "integer"},
	{name: "move_budget", summary: "most partitions in hand-over at once; 0: what runs stays where it is until it is rebalanced", kind: "integer"},
}

// configure changes the settings that the request names, and no other.
func (h *handler) configure(w http.ResponseWriter, r *http.Request) {
	c, err := settingsOf(r)
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	h.act(w, r, c.String(), func(ctx context.Context, o *operate.Operator) (operate.Answer, error) { return o.Configure(ctx, c) })
}

// rebalance evens the load of a pinned cluster.
func (h *handler) rebalance(w http.ResponseWriter, r *http.Request) {
	h.act(w, r, cluster.Rebalance{}.String(), func(ctx context.Context, o *operate.Operator) (operate.Answer, error) { return o.Rebalance(ctx) })
}

func settingsOf(r *http.Request) (cluster.Configure, error) {
	q := r.URL.Query()
	c := cluster.Configure{JobScheduler: q.Get("job_scheduler")}
	var err error
	number := func(name string, least int64) int64 {
		if !q.Has(name) || err != nil {
			return 0
		}
		n, bad := strconv.ParseInt(q.Get(name), 10, 64)
		if bad != nil || n < least {
			err = fmt.Errorf("%s=%q is not a number from %d on", name, q.Get(name), least)
		}
		return n
	}
	c.Retention, c.MoveBudget = number("retention", 1), number("move_budget", 0)
	if c.MoveBudget == 0 && q.Has("move_budget") {
		c.MoveBudget = cluster.NoMoves
	}
	if err == nil && c == (cluster.Configure{}) {
		err = fmt.Errorf("no setting is named: ask for /v1/configure?retention=100")
	}
	return c, err
}
