package rota_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/source"
	"github.com/rota-run/rota/store/memory"
)

// greets is a type that tells its config when it starts.
func greets() (rota.Type, chan string) {
	told := make(chan string, 64)
	return rota.NewType("greet", func(ctx context.Context, _ *rota.Grant, c struct{ Name string }) error {
		told <- c.Name
		<-ctx.Done()
		return nil
	}), told
}

func greeting(name string, version int64) rota.Task {
	return rota.Task{Type: "greet", Config: map[string]string{"Name": name}, Version: version}
}

// Old and new replicas of a service call Apply when they start, in any order: the higher version stands.
func TestApplyGoesForwardOnly(t *testing.T) {
	virtual(t, func(t *testing.T, ctx context.Context) {
		typ, told := greets()
		s := memory.New()
		old, young := join(t, ctx, s, "old", typ), join(t, ctx, s, "young", typ)
		for i, c := range []struct {
			m       *rota.Member
			task    rota.Task
			changed bool
			err     error
			starts  string
		}{
			{old, greeting("one", 0), true, nil, "one"},
			{young, greeting("one", 0), false, nil, ""},
			{young, greeting("two", 0), false, rota.ErrRefused, ""},
			{young, greeting("two", 2), true, nil, "two"},
			{old, greeting("one", 0), false, rota.ErrOlder, ""},
			{old, greeting("one", 1), false, rota.ErrOlder, ""},
			{old, greeting("two", 2), false, nil, ""},
			{old, greeting("ten", 10), true, nil, "ten"},
		} {
			changed, err := c.m.Apply(ctx, "job", c.task)
			if changed != c.changed || !errors.Is(err, c.err) {
				t.Errorf("call %d: %v, %v; want %v, %v", i, changed, err, c.changed, c.err)
			}
			if c.starts != "" {
				expect(t, ctx, told, c.starts)
			}
		}
		if synctest.Wait(); len(told) != 0 {
			t.Errorf("it started once too often, as %s", <-told)
		}
	})
}

func TestAKilledJobStaysKilled(t *testing.T) {
	virtual(t, func(t *testing.T, ctx context.Context) {
		typ, told := greets()
		m := join(t, ctx, memory.New(), "a", typ)
		task := greeting("hello", 1)
		must.Succeed(t, m.Submit(ctx, "job", task))
		expect(t, ctx, told, "hello")
		must.Succeed(t, m.Kill(ctx, "job"))
		if err := m.Submit(ctx, "job", task); !errors.Is(err, rota.ErrKilled) {
			t.Errorf("the same submission: %v", err)
		}
		if changed, err := m.Apply(ctx, "job", greeting("newer", 2)); changed || !errors.Is(err, rota.ErrKilled) {
			t.Errorf("Apply: %v, %v", changed, err)
		}
		if synctest.Wait(); len(told) != 0 {
			t.Fatal("it runs again")
		}
		must.Succeed(t, m.SubmitAgain(ctx, "job", task))
		expect(t, ctx, told, "hello")
	})
}

// What is wrong with a task is said when it is submitted, as for a task file; package source tests what is wrong.
func TestSubmissionsAreChecked(t *testing.T) {
	virtual(t, func(t *testing.T, ctx context.Context) {
		typ, _ := greets()
		check := rota.NewCheck("check", func(context.Context, *rota.Grant, struct{}) error { return nil })
		m := joinAs(t, ctx, memory.New(), rota.Config{Member: "a", Types: []rota.Type{typ, check}})
		for want, task := range map[string]rota.Task{
			`unknown type "great" (did you mean "greet"?)`: {Type: "great"},
			"unknown field":          {Type: "greet", Config: map[string]string{"Nome": "x"}},
			"needs partitions":       {Type: "greet", Spread: rota.Partitioned},
			"it has no period":       {Type: "greet", Every: time.Minute},
			"the field type is":      {},
			"weight: -1 is negative": {Type: "greet", Weight: -1},
		} {
			var malformed *source.MalformedError
			if err := m.Submit(ctx, "job", task); !errors.As(err, &malformed) || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
		}
		if err := m.Submit(ctx, "ch", rota.Task{Type: "greet", Config: make(chan int)}); err == nil {
			t.Error("a config that is no JSON was accepted")
		}
		for want, name := range map[string]string{"reserved": "rota.mine", "cannot be the id": "a b"} {
			if err := m.Submit(ctx, name, greeting("x", 0)); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
		}
		all := rota.Task{Type: "check", Cron: "0 6 * * *", TimeZone: "Europe/Berlin", CatchUp: rota.CatchUpAll,
			Timeout: time.Second, Labels: map[string]string{"zone": "a"},
			SpreadOver: "rack", Pin: "a", Tags: map[string]string{"squad": "x"}, RetryMin: time.Second,
			RetryMax: time.Minute, MaxAttempts: 3, OnStoreLoss: rota.StoreLossKeep}
		if err := m.Submit(ctx, "all", all); err != nil {
			t.Error(err)
		}
	})
}

// An hourly job has its first round soon after it was submitted, and none more because members leave; what nobody
// missed is not caught up.
func TestAnHourlyJobRunsOncePerHour(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		var planned []time.Time
		check := rota.NewCheck("invoice", func(_ context.Context, g *rota.Grant, _ struct{}) error {
			planned = append(planned, g.Planned)
			return nil
		})
		s := memory.New()
		m := join(t, ctx, s, "m0", check)
		task := rota.Task{Type: "invoice", Every: time.Hour}
		must.Succeed(t, must.Err(m.Apply(ctx, "invoices", task)))
		for i := range 6 {
			time.Sleep(20 * time.Minute)
			next := join(t, ctx, s, fmt.Sprint("m", i+1), check)
			must.Succeed(t, m.Leave(ctx))
			m = next
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if len(planned) != 3 || planned[2].Sub(planned[0].Truncate(time.Millisecond)) != 2*time.Hour {
			t.Fatalf("rounds planned for %v", planned)
		}
		must.Succeed(t, m.Kill(ctx, "invoices"))
		time.Sleep(24*time.Hour + 10*time.Minute)
		must.Succeed(t, m.SubmitAgain(ctx, "invoices", task))
		time.Sleep(20 * time.Minute)
		synctest.Wait()
		if len(planned) != 3 {
			t.Errorf("it made up for rounds of the time in which it was killed: %v", planned)
		}
	})
}
