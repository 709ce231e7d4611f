package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/work"
	"github.com/rota-run/rota/work/worktest"
)

func textLog(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }

func TestHostReadsThisMachine(t *testing.T) {
	t.Parallel()
	h := must.Get(round(t, Options{}, "host", object{"disks": []string{"/", t.TempDir()}}))(t)
	for _, name := range []string{"host.load1", "host.load5", "host.load15", "host.swap_used_percent"} {
		if v := h.LastValue(t, name); v < 0 {
			t.Errorf("%s is %v", name, v)
		}
	}
	if total, free := h.LastValue(t, "host.memory_total_bytes"),
		h.LastValue(t, "host.memory_available_bytes"); total <= 0 || free > total {
		t.Errorf("memory: %v of %v available", free, total)
	}
	if got := h.Named("host.disk_total_bytes"); len(got) != 2 || got[0].Tags["mount"] != "/" {
		t.Errorf("got disks %v, want two", got)
	}
}

// script is a machine whose counters are written down.
type script struct {
	counts []hostCounters
}

func (s *script) counters(context.Context) (hostCounters, error) {
	c := s.counts[0]
	s.counts = s.counts[1:]
	return c, nil
}
func (*script) load(context.Context) (a, b, c float64, err error) { return 1, 2, 3, nil }
func (*script) memory(context.Context) (memoryUse, error) {
	return memoryUse{total: 100, available: 25}, nil
}
func (*script) disk(context.Context, string) (diskUse, error) { return diskUse{}, errors.New("gone") }

func TestHostRates(t *testing.T) {
	t.Parallel()
	at := time.Unix(1000, 0)
	traffic := func(r, s uint64) map[string]netTraffic { return map[string]netTraffic{"eth0": {received: r, sent: s}} }
	r := &hostRunner{c: hostConfig{Network: []string{"eth0"}, Disks: []string{"/data"}},
		read: &script{counts: []hostCounters{
			{at, 10, 100, traffic(1000, 10)},
			{at.Add(2 * time.Second), 11, 104, traffic(5000, 30)},
			{at.Add(4 * time.Second), 12, 108, traffic(9000, 7)}, // the interface was made again
		}}}
	g, h := worktest.NewGrant(t, work.Definition{})
	for range 3 {
		if err := r.Run(t.Context(), g); err == nil || !strings.Contains(err.Error(), "read disk /data: gone") {
			t.Errorf("got %v, want the disk that cannot be read", err)
		}
	}
	if got := h.LastValue(t, "host.memory_used_percent"); got != 75 {
		t.Errorf("memory used %v %%, want 75", got)
	}
	if got := h.LastValue(t, "host.swap_used_percent"); got != 0 {
		t.Errorf("%v %% of no swap are used", got)
	}
	if got := h.Named("host.cpu_percent"); len(got) != 2 || got[0].Points[0].Value != 25 {
		t.Errorf("cpu: got %v, want 25 %% in the second and third round", got)
	}
	got := h.Named("host.net_received_bytes_per_second")
	if len(got) != 1 || got[0].Points[0].Value != 2000 || got[0].Tags["interface"] != "eth0" {
		t.Errorf("received: got %v, want 2000 per second, once", got)
	}
}

func TestNoop(t *testing.T) {
	t.Parallel()
	h, err := round(t, Options{}, "noop", object{})
	if err != nil || len(h.Samples()) != 0 {
		t.Errorf("got %v and %v, want nothing", err, h.Samples())
	}
	if h, _ = round(t, Options{}, "noop", object{"emit": true}); h.LastValue(t, "noop.rounds") != 1 {
		t.Error("emit did not emit")
	}
}

func TestWitnessWritesOneLinePerAct(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "acts.jsonl")
	g, h := worktest.NewGrant(t, define(t, object{"path": path}))
	typ := Builtin(Options{Witness: true})["witness"]
	for range 2 {
		must.Succeed(t, worktest.Run(t, typ, g))
	}
	h.SetValid(false)
	if err := worktest.Run(t, typ, g); !errors.Is(err, work.CauseLeaseLost) {
		t.Errorf("got %v, want that the lease is lost", err)
	}
	b := must.Get(os.ReadFile(path))(t)
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	if len(lines) != 2 {
		t.Fatalf("got %d lines, want two: an member without a lease must not act", len(lines))
	}
	var first, second witnessLine
	for i, to := range []*witnessLine{&first, &second} {
		must.Succeed(t, json.Unmarshal([]byte(lines[i]), to))
	}
	if want := (witnessLine{"m1", 1, "test", first.AtNS, "act", 0}); first != want || second.AtNS < first.AtNS ||
		first.AtNS <= 0 {
		t.Errorf("got %+v, then %+v, want %+v", first, second, want)
	}
}
