package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/rota-run/rota/cluster"
)

// Actions let requests change the cluster. They need a token: what a member may do is not for every program on its machine.
type Actions struct {
	// Do gives the cluster a command and journals it; an error means that nobody has answered, and that it may be done all the same.
	Do func(ctx context.Context, c cluster.Command) (cluster.Result, error)
	// RunNow asks for a round of a task, and journals it; an *AskError means that there is none to be had.
	RunNow func(ctx context.Context, task string) error
	// Job reads the definition of a job, as rota submit does.
	Job func(definition []byte) (cluster.JobID, cluster.JobSpec, error)
}

// AskError says why a task has no rounds to ask for.
type AskError struct{ Reason string }

// Error is the reason.
func (e *AskError) Error() string { return e.Reason }

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
	action := func(path, summary, param, means string, command func(name string) cluster.Command) operation {
		return operation{
			method: http.MethodPost, path: path, summary: summary, answer: Accepted{}, codes: actionCodes, params: []parameter{{name: param, summary: means, kind: "string", required: true}},
			handle: few.bound(h.trusted(func(w http.ResponseWriter, r *http.Request) { h.act(w, r, command(r.URL.Query().Get(param))) })),
		}
	}
	task := "the name of a task"
	job, member := "the name of a job; a task file is one", "the name of a member"
	return []operation{
		{
			method: http.MethodPost, path: "/v1/submit", summary: "Submit a job: the body is its definition, in YAML or JSON", answer: Accepted{}, codes: submitCodes, body: "application/yaml",
			params: []parameter{
				{name: "job", summary: "its name, instead of the one in the definition", kind: "string"},
				{name: "update", summary: "let a live job of this name go on by the new definition", kind: "boolean"},
			},
			handle: few.bound(h.trusted(h.submit)),
		},
		action("/v1/kill", "End a job", "job", job, func(name string) cluster.Command { return cluster.KillJob{Job: cluster.JobID(name)} }),
		action("/v1/pause", "Let nobody run a job until it is resumed", "job", job, func(name string) cluster.Command { return cluster.PauseJob{Job: cluster.JobID(name), By: "API"} }),
		action("/v1/resume", "End a pause", "job", job, func(name string) cluster.Command { return cluster.ResumeJob{Job: cluster.JobID(name)} }),
		action("/v1/drain", "Move a member's tasks away and give it no more", "member", member, func(name string) cluster.Command {
			return cluster.DrainMember{Member: cluster.MemberID(name), On: true}
		}),
		action("/v1/undrain", "Give a drained member tasks again", "member", member, func(name string) cluster.Command { return cluster.DrainMember{Member: cluster.MemberID(name)} }),
		action("/v1/unpark", "Try a task again that failed too often", "task", task, func(name string) cluster.Command {
			return cluster.UnparkPartition{Partition: cluster.PartitionID(name)}
		}),
		{
			method: http.MethodPost, path: "/v1/run-now", summary: "Have the owner of a task that runs in rounds begin one", answer: Accepted{}, codes: actionCodes,
			params: []parameter{{name: "task", summary: task, kind: "string", required: true}},
			handle: few.bound(h.trusted(h.runNow)),
		},
		{
			method: http.MethodPost, path: "/v1/configure", summary: "Change settings of the cluster, which all members follow", answer: Accepted{}, codes: actionCodes, params: settingParameters,
			handle: few.bound(h.trusted(h.configure)),
		},
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

// trusted refuses actions where nobody has to show a token.
func (h *handler) trusted(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if h.c.Token == "" {
			fail(w, http.StatusForbidden, "this member's API has no token, so it only shows; try: rota run --api-token env:NAME")
			return
		}
		next(w, r)
	}
}

func (h *handler) act(w http.ResponseWriter, r *http.Request, c cluster.Command) {
	if err := cluster.CheckCommand(c); err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), actWithin)
	defer cancel()
	switch result, err := h.c.Actions.Do(ctx, c); {
	case err != nil:
		fail(w, http.StatusServiceUnavailable, fmt.Sprintf("%v: %v; it may be done all the same: look before you try again", c, err))
	case !result.Accepted:
		fail(w, http.StatusConflict, fmt.Sprintf("%v: %s", c, result.Reason))
	default:
		answer(w, Accepted{fmt.Sprint(c)})
	}
}

func (h *handler) runNow(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), actWithin)
	defer cancel()
	task := r.URL.Query().Get("task")
	said := "run-now " + task
	var refused *AskError
	switch err := h.c.Actions.RunNow(ctx, task); {
	case errors.As(err, &refused):
		fail(w, http.StatusConflict, said+": "+refused.Reason)
	case err != nil:
		fail(w, http.StatusServiceUnavailable, fmt.Sprintf("%s: %v; it may be done all the same", said, err))
	default:
		answer(w, Accepted{said})
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
	was, there := h.c.Value().Job(id)
	switch {
	case id == "" || reserved(cluster.PartitionID(id)):
		fail(w, http.StatusBadRequest, `the job needs a name that does not begin with "rota.": write id: NAME in the definition, or ask for /v1/submit?job=NAME`)
	case there && was.State == cluster.JobKilled && cluster.SameSpec(was.Spec, &spec):
		fail(w, http.StatusConflict, fmt.Sprintf("submit job %s: it was killed, and stays so; try: rota submit --again", id))
	case there && was.State == cluster.JobRunning && r.URL.Query().Get("update") == "true":
		h.act(w, r, cluster.UpdateJob{Job: id, Spec: spec, Expected: cluster.Expect(was.SpecIndex)})
	default:
		h.act(w, r, cluster.SubmitJob{Job: id, Spec: spec})
	}
}
