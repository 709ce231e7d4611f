package rota

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/rota-run/rota/call"
	"github.com/rota-run/rota/cluster"
)

// TestIdleSlots: a slot is idle when neither a task nor a call has it, nor a call that waits for this member.
func TestIdleSlots(t *testing.T) {
	t.Parallel()
	labels := []cluster.Label{{Key: "rota.functions", Value: "f"}}
	v := cluster.Assemble(cluster.Parts{Index: 9, Members: []cluster.Member{
		{ID: "a", Incarnation: 1, State: cluster.MemberJoined, Slots: 4, Labels: labels, Heartbeat: "a"},
		{ID: "b", Incarnation: 2, State: cluster.MemberJoined, Slots: 9, Labels: labels, Heartbeat: "b"},
		{ID: "drains", Incarnation: 3, State: cluster.MemberJoined, Slots: 9, Draining: true, Labels: labels,
			Heartbeat: "c"},
		{ID: "full", Incarnation: 4, State: cluster.MemberJoined, Slots: 1, Labels: labels, Heartbeat: "d"},
		{ID: "no-functions", Incarnation: 5, State: cluster.MemberJoined, Slots: 9, Heartbeat: "e"},
	}})
	calls := []call.Listed{
		{Record: call.Record{State: call.Running, On: "a", Runner: &call.Runner{Member: "a"}}},
		{Record: call.Record{State: call.Queued, On: "a"}},
		{Record: call.Record{State: call.Done, On: "a", Runner: &call.Runner{Member: "a"}}},
		{Record: call.Record{State: call.Queued}},
		{Record: call.Record{State: call.Running, Runner: &call.Runner{Member: "full"}}},
	}
	if got := fmt.Sprint(idleWorkers(v, calls)); got != "[{b 9} {a 2}]" {
		t.Errorf("idle are %s", got)
	}
	check := cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "c", Spread: cluster.SpreadEvery}}}
	v, _ = v.Apply(cluster.Entry{Index: 10, Writer: "w", Seq: 1,
		Commands: []cluster.Command{cluster.SubmitJob{Job: "check", Spec: check}}})
	if got := fmt.Sprint(idleWorkers(v, calls)); got != "[{b 9} {a 2}]" {
		t.Errorf("checks need no slot; idle are %s", got)
	}
	spec := cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "t", Spread: cluster.SpreadPool}}}
	submit := []cluster.Command{cluster.SubmitJob{Job: "j", Spec: spec}}
	v, _ = v.Apply(cluster.Entry{Index: 11, Writer: "w", Seq: 2, Commands: submit})
	if got := idleWorkers(v, nil); len(got) != 0 {
		t.Errorf("all slots have a task, and idle are %v", got)
	}
}

// An item that waits for its turn ends with its context.
func TestInTurnEnds(t *testing.T) {
	t.Parallel()
	room := make(chan struct{}, 1)
	room <- struct{}{}
	why := errors.New("moved")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if err := inTurn(ctx, room, func() error { return nil }); !errors.Is(err, why) {
		t.Errorf("got %v, want %v", err, why)
	}
}
