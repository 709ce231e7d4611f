package api_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/api"
	"github.com/rota-run/rota/internal/operate"
	"github.com/rota-run/rota/internal/proof/virtual"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/store/memory"
	"github.com/rota-run/rota/work"
)

// acting is a cluster that notes what it was told, and answers as the test says.
type acting struct {
	value  cluster.Value
	said   []string
	answer cluster.Result
	err    error

	recorded []journal.Record
}

func (a *acting) Value(context.Context) (cluster.Value, error) { return a.value, nil }

func (a *acting) Changed() <-chan struct{} { return nil }

func (a *acting) Record(_ context.Context, records ...journal.Record) error {
	a.recorded = append(a.recorded, records...)
	return nil
}

func (a *acting) Propose(_ context.Context, c ...cluster.Command) ([]cluster.Result, error) {
	a.said = append(a.said, fmt.Sprintf("%T %v", c[0], c[0]))
	return []cluster.Result{a.answer}, a.err
}

func (a *acting) config(t *testing.T) api.Config {
	c := config(t)
	c.Token, a.value = "secret", c.Value()
	docs := memory.New().Open()
	t.Cleanup(func() { docs.Close() })
	c.Actions = &api.Actions{
		Operator: operate.New(a, docs, nil, work.Types{"noop": {Name: "noop", Periodic: true}}, "API of a"),
		Job: func(definition []byte) (cluster.JobID, cluster.JobSpec, error) {
			if string(definition) == "bad" {
				return "", cluster.JobSpec{}, errors.New("line 1: not a definition")
			}
			return cluster.JobID(definition), cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "noop"}}}, nil
		},
	}
	return c
}

func trusted(r *http.Request) { r.Header.Set("Authorization", "Bearer secret") }

func TestActions(t *testing.T) {
	t.Parallel()
	a := &acting{answer: cluster.Result{Accepted: true}}
	c := a.config(t)
	for path, want := range map[string]string{ // order-free: each by itself
		"/v1/kill?job=etl":        "cluster.KillJob kill-job etl",
		"/v1/pause?job=etl":       "cluster.PauseJob pause-job etl",
		"/v1/resume?job=etl":      "cluster.ResumeJob resume-job etl",
		"/v1/drain?member=a":      "cluster.DrainMember drain-member a",
		"/v1/undrain?member=a":    "cluster.DrainMember undrain-member a",
		"/v1/rebalance":           "cluster.Rebalance rebalance",
		"/v1/unpark?task=etl%2Fx": "cluster.UnparkPartition unpark-partition etl/x",
	} {
		a.said = nil
		r := request(c, "POST", path, trusted)
		got := body(t, r)
		if r.StatusCode != http.StatusOK || len(a.said) != 1 || !strings.HasPrefix(a.said[0], want) ||
			!strings.Contains(got, `"said":"`) {
			t.Errorf("%s: %s, %s, the cluster was told %q; want %s", path, r.Status, got, a.said, want)
		}
		for name, change := range map[string]func(*http.Request){ // order-free: each by itself
			"without a token":    func(*http.Request) {},
			"with a wrong token": func(r *http.Request) { r.Header.Set("Authorization", "Bearer secrets") },
			"from a page elsewhere": func(r *http.Request) {
				trusted(r)
				r.Header.Set("Origin", "https://example.com")
			},
		} {
			a.said = nil
			if r := request(c, "POST", path, change); r.StatusCode/100 != 4 || a.said != nil {
				t.Errorf("%s %s: %s, the cluster was told %q", path, name, r.Status, a.said)
			}
		}
	}
}

// Whoever reaches the port of a member without a token can look, and change nothing.
func TestActionsNeedAToken(t *testing.T) {
	t.Parallel()
	a := &acting{answer: cluster.Result{Accepted: true}}
	c := a.config(t)
	c.Token = ""
	r := request(c, "POST", "/v1/kill?job=etl", nil)
	if got := body(t, r); r.StatusCode != http.StatusForbidden || !strings.Contains(got, "--api-token") ||
		a.said != nil {
		t.Errorf("%s %s, the cluster was told %q", r.Status, got, a.said)
	}
	c.Actions = nil
	if r := request(c, "POST", "/v1/kill?job=etl", nil); r.StatusCode != http.StatusNotFound {
		t.Errorf("without actions: %s", r.Status)
	}
}

// hanging is a cluster that does not answer.
type hanging struct{ *acting }

func (hanging) Propose(ctx context.Context, _ ...cluster.Command) ([]cluster.Result, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// TestActionsHaveABound: a cluster that does not answer is given up on while the client still waits.
func TestActionsHaveABound(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		a := &acting{}
		c := a.config(t)
		c.Actions.Operator = operate.New(hanging{a}, nil, nil, nil, "API of a")
		began := time.Now()
		r := request(c, "POST", "/v1/kill?job=x", trusted)
		if took := time.Since(began); r.StatusCode != http.StatusServiceUnavailable || took != 10*time.Second {
			t.Errorf("%s after %s", r.Status, took)
		}
	})
}

func TestSubmission(t *testing.T) {
	t.Parallel()
	a := &acting{answer: cluster.Result{Accepted: true}}
	c := a.config(t)
	for _, path := range []string{"/v1/submit", "/v1/submit?job=parks", "/v1/submit?update=true", "/v1/submit?update=false"} {
		r := request(c, "POST", path,
			func(r *http.Request) { trusted(r); r.Body = io.NopCloser(strings.NewReader("waits")) })
		if r.StatusCode != http.StatusOK {
			t.Errorf("%s: %s %s", path, r.Status, body(t, r))
		}
	}
	names := []string{"cluster.SubmitJob", "cluster.SubmitJob", "cluster.UpdateJob", "cluster.SubmitJob"}
	if !slices.EqualFunc(a.said, names, strings.HasPrefix) || !strings.Contains(a.said[1], "parks") {
		t.Errorf("the cluster was told %q", a.said)
	}
}
