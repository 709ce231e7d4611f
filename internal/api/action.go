package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/operate"
)

// Actions let requests change the cluster. They need a token: what a member may do is not for every program on its
// machine.
type Actions struct {
	Operator *operate.Operator
	// Job reads the definition of a job, as rota job submit does.
	Job func(definition []byte) (cluster.JobID, cluster.JobSpec, error)
}

// Accepted is the answer of an action that the cluster has accepted.
type Accepted struct {
	Said string `json:"said"`
}

// The bounds of an action.
const (
	maxDefinition = 1 << 20
	actWithin     = 10 * time.Second
)

// actions are the operations that change the cluster.
func (h *handler) actions() []operation {
	if h.c.Actions == nil {
		return nil
	}
	few := newRoom(maxHeavy)
	job := parameter{name: "job", summary: "the name of a job; a task file is one", kind: "string", required: true}
	flow := parameter{name: "job", summary: "the name of a job that is a flow", kind: "string", required: true}
	member := parameter{name: "member", summary: "the name of a member", kind: "string", required: true}
	task := parameter{name: "task", summary: "the name of a task", kind: "string", required: true}
	return []operation{
		{
			method: http.MethodPost, path: "/v1/submit",
			summary: "Submit a job: the body is its definition, in YAML or JSON", answer: Accepted{},
			codes: submitCodes, body: "application/yaml",
			params: []parameter{
				{name: "job", summary: "its name, instead of the one in the definition", kind: "string"},
				{name: "update", summary: "let a live job of this name go on by the new definition", kind: "boolean"},
			},
			handle: few.bound(h.trusted(h.submit)),
		},
		action(h, few, "/v1/kill", "End a job", job, (*operate.Operator).Kill),
		action(h, few, "/v1/pause", "Pause a job until it is resumed", job, (*operate.Operator).Pause),
		action(h, few, "/v1/resume", "End a pause", job, (*operate.Operator).Resume),
		action(h, few, "/v1/retry-dead", "Put the dead letters of a flow back to where they came from", flow,
			answerOf((*operate.Operator).RetryDead)),
		action(h, few, "/v1/drop-dead", "Drop the dead letters of a flow for good", flow,
			answerOf((*operate.Operator).DropDead)),
		action(h, few, "/v1/drain", "Move a member's tasks away and assign it no more", member,
			(*operate.Operator).Drain),
		action(h, few, "/v1/undrain", "Give a drained member tasks again", member, (*operate.Operator).Undrain),
		action(h, few, "/v1/evict",
			"End a member: others take its tasks, and it comes back only when it is started again", member,
			(*operate.Operator).Evict),
		action(h, few, "/v1/unpark", "Retry a parked task", task, (*operate.Operator).Unpark),
		action(h, few, "/v1/run-now", "Start a round of a periodic task", task, answerOf((*operate.Operator).RunNow)),
		{
			method: http.MethodPost, path: "/v1/configure",
			summary: "Change settings of the cluster, which all members follow", answer: Accepted{}, codes: actionCodes,
			params: settingParameters,
			handle: few.bound(h.trusted(h.configure)),
		},
		{
			method: http.MethodPost, path: "/v1/rebalance", summary: "Even the load once, where move_budget is 0",
			answer: Accepted{}, codes: actionCodes,
			handle: few.bound(h.trusted(h.rebalance)),
		},
	}
}

// asked is one thing that is asked of a cluster for what has a name.
type asked[Name ~string] = func(o *operate.Operator, ctx context.Context, name Name) (operate.Answer, error)

// action is the operation that asks it, for the name in a parameter.
func action[Name ~string](h *handler, few room, path, summary string, p parameter, do asked[Name]) operation {
	return operation{
		method: http.MethodPost, path: path, summary: summary, answer: Accepted{}, codes: actionCodes,
		params: []parameter{p},
		handle: few.bound(h.trusted(func(w http.ResponseWriter, r *http.Request) {
			name := r.URL.Query().Get(p.name)
			what := strings.TrimPrefix(path, "/v1/") + " " + name
			h.act(w, r, what, func(ctx context.Context, o *operate.Operator) (operate.Answer, error) {
				return do(o, ctx, Name(name))
			})
		})),
	}
}

// answerOf leaves out what else is returned.
func answerOf[Name ~string, More any](
	do func(o *operate.Operator, ctx context.Context, name Name) (More, operate.Answer, error),
) asked[Name] {
	return func(o *operate.Operator, ctx context.Context, name Name) (operate.Answer, error) {
		_, a, err := do(o, ctx, name)
		return a, err
	}
}

var actionCodes = map[int]string{ // read-only: a table
	http.StatusConflict:           "the cluster has refused it, for this reason",
	http.StatusServiceUnavailable: "the cluster has not answered, and it may be done all the same; or there are too many requests of this kind at a time",
}

var submitCodes = map[int]string{ // read-only: a table
	http.StatusConflict:              actionCodes[http.StatusConflict],
	http.StatusServiceUnavailable:    actionCodes[http.StatusServiceUnavailable],
	http.StatusRequestEntityTooLarge: "the definition is too large",
}

// trusted refuses actions where nobody has to show a token, and those of who only reads.
func (h *handler) trusted(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !h.c.guarded() {
			fail(w, http.StatusForbidden,
				"this member's API has no token, so it only shows; try: rota run --api-token env:NAME")
			return
		}
		if u := userOf(r); u.Role != RoleOperate {
			fail(w, http.StatusForbidden,
				fmt.Sprintf("the token of %s only reads, as its role says; try: a token with the role operate", u.Name))
			return
		}
		next(w, r)
	}
}

// act answers what became of a request.
func (h *handler) act(w http.ResponseWriter, r *http.Request, what string,
	do func(ctx context.Context, o *operate.Operator) (operate.Answer, error)) {
	ctx, cancel := context.WithTimeout(r.Context(), actWithin)
	defer cancel()
	o := h.c.Actions.Operator
	if u := userOf(r); u.Name != "" {
		o = o.For(u.Name)
	}
	var refused *operate.RefusedError
	var invalid *operate.InvalidError
	switch a, err := do(ctx, o); {
	case errors.As(err, &invalid):
		fail(w, http.StatusBadRequest, err.Error())
	case errors.As(err, &refused):
		text := refused.Said + ": " + refused.Error()
		if refused.Try != "" {
			text += "; try: " + refused.Try
		}
		fail(w, http.StatusConflict, text)
	case err != nil:
		fail(w, http.StatusServiceUnavailable,
			fmt.Sprintf("%s: %v; it may be done all the same: look before you try again", what, err))
	default:
		answer(w, Accepted{a.Said})
	}
}

func (h *handler) submit(w http.ResponseWriter, r *http.Request) {
	definition, err := io.ReadAll(r.Body)
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		fail(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the definition has more than %d bytes", maxDefinition))
		return
	case err != nil:
		fail(w, http.StatusBadRequest, fmt.Sprintf("read the definition: %v", err))
		return
	}
	id, spec, err := h.c.Actions.Job(definition)
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	if name := r.URL.Query().Get("job"); name != "" {
		id = cluster.JobID(name)
	}
	if id == "" {
		fail(w, http.StatusBadRequest,
			`the job needs a name: write id: NAME in the definition, or ask for /v1/submit?job=NAME`)
		return
	}
	var mode operate.Mode
	if r.URL.Query().Get("update") == "true" {
		mode = operate.Update
	}
	h.act(w, r, "submit "+string(id), func(ctx context.Context, o *operate.Operator) (operate.Answer, error) {
		return o.Submit(ctx, id, spec, mode)
	})
}

// settingParameters are those of rota cluster set.
var settingParameters = []parameter{ // read-only: a table
	{name: "job_scheduler", summary: "how slots are shared among jobs: round-robin, greedy, percentage",
		kind: "string"},
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
	h.act(w, r, c.String(), func(ctx context.Context, o *operate.Operator) (operate.Answer, error) {
		return o.Configure(ctx, c)
	})
}

// rebalance evens the load of a pinned cluster.
func (h *handler) rebalance(w http.ResponseWriter, r *http.Request) {
	h.act(w, r, cluster.Rebalance{}.String(), func(ctx context.Context, o *operate.Operator) (operate.Answer, error) {
		return o.Rebalance(ctx)
	})
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
