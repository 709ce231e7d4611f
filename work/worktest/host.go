package worktest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/publish"
	"github.com/rota-run/rota/work"
)

// Host is a work.Host in memory. Make it with NewHost. All methods may be called from any goroutine.
type Host struct {
	mu        sync.Mutex
	samples   []publish.Sample
	changed   chan struct{} // closed and replaced when a sample or child arrives, or a position is saved
	expired   bool
	positions map[cluster.PartitionID]position
	children  map[cluster.PartitionID][]cluster.Child
	failure   error
}

type position struct {
	token cluster.Token
	data  []byte
}

var _ work.Positions = (*Host)(nil)

// NewHost returns an empty host on which every grant's lease is valid.
func NewHost() *Host {
	return &Host{
		changed:   make(chan struct{}),
		positions: map[cluster.PartitionID]position{},
		children:  map[cluster.PartitionID][]cluster.Child{},
	}
}

// Emit collects samples.
func (h *Host) Emit(samples ...publish.Sample) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.samples = append(h.samples, samples...)
	h.tell()
}

// Valid is true until SetValid changes it.
func (h *Host) Valid(*work.Grant) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.expired
}

// LoadPosition returns the stored position, nil if none.
func (h *Host) LoadPosition(ctx context.Context, g *work.Grant) ([]byte, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.stopped(ctx); err != nil {
		return nil, fmt.Errorf("load position of %s: %w", g.Partition, err)
	}
	return bytes.Clone(h.positions[g.Partition].data), nil
}

// SavePosition stores a position unless a higher token has stored one; then it returns work.ErrToken.
func (h *Host) SavePosition(ctx context.Context, g *work.Grant, p []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	err := h.stopped(ctx)
	if err == nil && h.positions[g.Partition].token > g.Token {
		err = work.ErrToken
	}
	if err != nil {
		return fmt.Errorf("save position of %s: %w", g.Partition, err)
	}
	h.positions[g.Partition] = position{token: g.Token, data: bytes.Clone(p)}
	h.tell()
	return nil
}

// LoadPositions returns the stored positions.
func (h *Host) LoadPositions(ctx context.Context, of []cluster.PartitionID) ([][]byte, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make([][]byte, len(of))
	for i, id := range of {
		out[i] = bytes.Clone(h.positions[id].data)
	}
	return out, h.stopped(ctx)
}

// Split collects children.
func (h *Host) Split(ctx context.Context, g *work.Grant, children []cluster.Child) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.stopped(ctx); err != nil {
		return fmt.Errorf("split %s: %w", g.Partition, err)
	}
	h.children[g.Partition] = append(h.children[g.Partition], children...)
	h.tell()
	return nil
}

func (h *Host) stopped(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return h.failure
}

func (h *Host) tell() {
	close(h.changed)
	h.changed = make(chan struct{})
}

// SetValid sets what Valid answers.
func (h *Host) SetValid(on bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.expired = !on
}

// Fail makes positions and splits fail with err from now on; nil heals them.
func (h *Host) Fail(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failure = err
}

// SetPosition stores a position as if the owner with that token had.
func (h *Host) SetPosition(p cluster.PartitionID, token cluster.Token, data []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.positions[p] = position{token: token, data: bytes.Clone(data)}
}

// Position returns the stored position of a partition, nil if none.
func (h *Host) Position(p cluster.PartitionID) []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	return bytes.Clone(h.positions[p].data)
}

// Children returns what was split off from a partition, in order.
func (h *Host) Children(p cluster.PartitionID) []cluster.Child {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.children[p])
}

// Samples returns what was emitted so far, in order.
func (h *Host) Samples() []publish.Sample {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.samples)
}

// Named returns the emitted samples of one name, in order.
func (h *Host) Named(name string) []publish.Sample {
	return slices.DeleteFunc(h.Samples(), func(s publish.Sample) bool { return s.Name != name })
}

// Last returns the newest sample of that name; the test fails if there is none.
func (h *Host) Last(tb testing.TB, name string) publish.Sample {
	tb.Helper()
	all := h.Named(name)
	if len(all) == 0 {
		tb.Fatalf("no sample named %q was emitted; there are %s", name, h.names())
	}
	return all[len(all)-1]
}

// LastValue returns the value of the last point of the newest sample of that name; the test fails if there is none.
func (h *Host) LastValue(tb testing.TB, name string) float64 {
	tb.Helper()
	s := h.Last(tb, name)
	if len(s.Points) == 0 {
		tb.Fatalf("the last sample named %q has no points", name)
	}
	return s.Points[len(s.Points)-1].Value
}

func (h *Host) names() []string {
	var out []string
	for _, s := range h.Samples() {
		if !slices.Contains(out, s.Name) {
			out = append(out, s.Name)
		}
	}
	slices.Sort(out)
	return out
}

// Wait returns when cond holds, asking again whenever something arrived at the host; the test fails if ctx ends before.
func (h *Host) Wait(ctx context.Context, tb testing.TB, cond func(*Host) bool) {
	tb.Helper()
	for {
		h.mu.Lock()
		changed := h.changed
		h.mu.Unlock()
		if cond(h) {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			tb.Fatalf("wait for the host: %v; samples so far: %v", context.Cause(ctx), h.names())
		}
	}
}
