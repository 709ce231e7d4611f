package api

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/operate"
)

// settingParameters are those of rota cluster set.
var settingParameters = []parameter{ // read-only: a table
	{name: "job_scheduler", summary: "how slots are shared among jobs: round-robin, greedy, percentage", kind: "string"},
	{name: "retention", summary: "how many jobs that have ended stay visible", kind: "integer"},
	{name: "move_budget", summary: "most partitions in hand-over at once", kind: "integer"},
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

func settingsOf(r *http.Request) (cluster.Configure, error) {
	q := r.URL.Query()
	c := cluster.Configure{JobScheduler: q.Get("job_scheduler")}
	var err error
	number := func(name string) int64 {
		if !q.Has(name) || err != nil {
			return 0
		}
		n, bad := strconv.ParseInt(q.Get(name), 10, 64)
		if bad != nil || n < 1 {
			err = fmt.Errorf("%s=%q is not a number above 0", name, q.Get(name))
		}
		return n
	}
	c.Retention, c.MoveBudget = number("retention"), number("move_budget")
	if err == nil && c == (cluster.Configure{}) {
		err = fmt.Errorf("no setting is named: ask for /v1/configure?retention=100")
	}
	return c, err
}
