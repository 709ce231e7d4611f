package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/rota-run/rota/proof/bench/internal/measure"
	"github.com/rota-run/rota/proof/bench/stores/internal/appends"
	"github.com/rota-run/rota/proof/bench/stores/internal/idle"
	"github.com/rota-run/rota/proof/server"
)

func TestMain(m *testing.M) {
	if server.Child() {
		return
	}
	os.Exit(m.Run())
}

// rowsOf runs a measurement and returns its rows.
func rowsOf[R any](t *testing.T, args ...string) []R {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := measure.Code("rotabench", &stderr,
		run(t.Context(), append(args, "--json"), &stdout, &stderr)); code != 0 {
		t.Fatalf("exit %d: %s", code, stderr.String())
	}
	var rows []R
	if err := json.Unmarshal(stdout.Bytes(), &rows); err != nil {
		t.Fatalf("%v: %s", err, stdout.String())
	}
	return rows
}

// TestAppend measures little: that there are figures, not what they are.
func TestAppend(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"file", "etcd", "nats"} {
		rows := rowsOf[appends.Row](t, "append", "--store", kind, "--rounds", "2", "--calls", "4")
		if len(rows) != 7 {
			t.Fatalf("%s: %d rows", kind, len(rows))
		}
		for _, r := range rows {
			if r.Store != kind || r.Ratio <= 0 || r.Ours.P99 < r.Ours.P50 || r.Bare.P99 < r.Bare.P50 ||
				r.Ours.P50 <= 0 || r.Bare.P50 <= 0 {
				t.Errorf("%+v", r)
			}
		}
	}
}

// TestIdle holds a small cluster to the goal, where a busy machine does not change the count: no member is removed,
// nothing is written.
func TestIdle(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{{"memory", "replica"}, {"memory", "lease"}, {"etcd", "replica"},
		{"nats", "replica"}} {
		t.Run(c[0]+" "+c[1], func(t *testing.T) {
			t.Parallel() // most of it is waiting
			kind := c[0]
			rows := rowsOf[idle.Row](t, "idle", "--store", kind, "--protocol", c[1], "--members", "4", "--partitions",
				"40", "--ttl", "8s", "--for", "3s")
			if len(rows) != 1 {
				t.Fatalf("%d rows", len(rows))
			}
			if r := rows[0]; r.Store != kind || r.Members != 4 || r.Partitions != 40 || r.Entries != 0 ||
				r.Requests == 0 {
				t.Errorf("%+v", r)
			}
		})
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		nil, {"now"}, {"append", "--help"}, {"append", "--store", "memory"}, {"append", "--rounds", "0"},
		{"append", "--store", "nosuch"},
		{"idle", "more"}, {"idle", "--partitions", "many"}, {"idle", "--members", "0"}, {"idle", "--ttl", "1ms"},
		{"idle", "--protocol", "none"},
	} {
		var out bytes.Buffer
		if code := measure.Code("rotabench", &out, run(context.Background(), args, &out, &out)); code != 2 ||
			!strings.Contains(out.String(), "rotabench") {
			t.Errorf("%v: exit %d, %q", args, code, out.String())
		}
	}
}
