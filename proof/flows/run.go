package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rota-run/rota/proof/process"
)

// limit bounds a run: only one that does not come to its end waits for it.
const limit = 10 * time.Minute

// one plays a run.
func one(ctx context.Context, kind string, seed uint64) (r report, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errors.New("the run has not ended in time"))
	defer cancel()
	dir, err := os.MkdirTemp("", "rota-flows-")
	if err != nil {
		return r, err
	}
	defer func() {
		if err == nil {
			os.RemoveAll(dir)
			return
		}
		err = fmt.Errorf("seed %d, %s is kept: %w", seed, dir, err)
	}()
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "out"), 0o700),
		os.Mkdir(filepath.Join(dir, "seals"), 0o700)); err != nil {
		return r, err
	}
	g, err := prepare(ctx, kind, dir)
	if err != nil {
		return r, err
	}
	defer g.stop()
	s := &stage{dir: dir, store: g.store, queue: g.queue, chance: rand.New(rand.NewPCG(seed, 0)),
		members: make([]*process.Process, 3)}
	defer s.stop()
	defer func() {
		if err != nil {
			err = fmt.Errorf("%w\n%s", err, s.said())
		}
	}()
	for i := range s.members {
		if err := s.start(i); err != nil {
			return r, err
		}
	}
	if err := s.faults(ctx, g, &r); err != nil {
		return r, err
	}
	if err := s.await(ctx, func() bool {
		_, err := os.Stat(filepath.Join(dir, "ended"))
		return err == nil
	}); err != nil {
		return r, err
	}
	return r, s.judge(&r)
}

// stage is the processes of a run.
type stage struct {
	dir, store string
	queue      string // "" for the store's own
	chance     *rand.Rand
	members    []*process.Process
	starts     int
}

func (s *stage) start(i int) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	text, err := json.Marshal(place{Member: fmt.Sprint("m", i), Store: s.store, Queue: s.queue, Dir: s.dir})
	if err != nil {
		return err
	}
	s.starts++
	log, err := os.Create(filepath.Join(s.dir, fmt.Sprintf("m%d-%d.log", i, s.starts)))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(program)
	cmd.Env, cmd.Stderr = append(os.Environ(), memberVariable+"="+string(text)), log
	s.members[i], err = process.Start(cmd)
	return err
}

// said is how far a run has come, and the end of what each start of a member has logged.
func (s *stage) said() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d batches are at the output", len(s.batches()))
	logs, _ := filepath.Glob(filepath.Join(s.dir, "m*.log")) // the pattern is sound
	for _, f := range logs {
		text, _ := os.ReadFile(f) // what is missing says nothing
		fmt.Fprintf(&b, "\n%s: ...%s", filepath.Base(f), text[max(0, len(text)-lastSaid):])
	}
	return b.String()
}

// lastSaid is how many bytes of a log an error repeats.
const lastSaid = 600

func (s *stage) stop() {
	for _, m := range s.members {
		if m != nil {
			_ = m.Kill() // it may have ended
		}
	}
}

// await looks until it is so. Members that have ended by themselves start again.
func (s *stage) await(ctx context.Context, holds func() bool) error {
	for !holds() {
		for i, m := range s.members {
			if m.Ended() {
				if err := s.start(i); err != nil {
					return err
				}
			}
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// faults kills processes and servers, each at an instant that the output has come to.
func (s *stage) faults(ctx context.Context, g ground, r *report) error {
	for _, at := range s.plan() {
		if err := s.await(ctx, func() bool { return len(s.batches()) >= at }); err != nil {
			return err
		}
		if err := pause(ctx, time.Duration(s.chance.IntN(300))*time.Millisecond); err != nil {
			return err
		}
		if g.hit != nil && s.chance.IntN(2) == 0 || g.hit != nil && r.ServerKill == 0 && r.Kills > 0 {
			r.ServerKill++
			if err := g.hit(ctx, s.chance); err != nil {
				return err
			}
			continue
		}
		i := s.chance.IntN(len(s.members))
		if err := s.members[i].Kill(); err != nil {
			return err
		}
		r.Kills++
	}
	return nil
}

// plan is after how many batches at the output something is killed: the last are a third of all at least, each of which
// is one of the flow.
func (s *stage) plan() []int {
	out := []int{0, 1 + s.chance.IntN(20), 20 + s.chance.IntN(30)}
	if s.chance.IntN(2) == 0 {
		out = append(out, 60+s.chance.IntN(40))
	}
	return out
}

func (s *stage) batches() []string {
	files, _ := filepath.Glob(filepath.Join(s.dir, "out", "*.json")) // the pattern is sound
	return files
}

// judge looks at what is at the output.
func (s *stage) judge(r *report) error {
	seen, states := map[string]string{}, 0
	for _, f := range s.batches() {
		segments, err := readBatch(f)
		if err != nil {
			return err
		}
		for _, g := range segments {
			if strings.HasPrefix(g, counted) {
				var shard, n int
				if _, err := fmt.Sscanf(g, counted+"%d/%d", &shard, &n); err != nil {
					return err
				}
				states += n
			}
			if other, ok := seen[g]; ok {
				return fmt.Errorf("segment %s is in the batches %s and %s", g, filepath.Base(other), filepath.Base(f))
			}
			seen[g] = f
		}
		if err := s.sameAgain(f, segments, r); err != nil {
			return err
		}
	}
	maps.DeleteFunc(seen, func(g, _ string) bool { return strings.HasPrefix(g, counted) })
	r.Segments = len(seen)
	if states != 3*each {
		return fmt.Errorf("the states have %d segments, want %d", states, 3*each)
	}
	if len(seen) != 3*each {
		return fmt.Errorf("%d segments are at the output, want %d: %d were lost", len(seen), 3*each, 3*each-len(seen))
	}
	return s.sealed()
}

// sameAgain compares what was written again with the first: a batch is the same for each receiver.
func (s *stage) sameAgain(f string, first []string, r *report) error {
	others, _ := filepath.Glob(f + ".again-*") // the pattern is sound
	for _, o := range others {
		again, err := readBatch(o)
		if err != nil {
			return err
		}
		if !slices.Equal(first, again) {
			return fmt.Errorf("batch %s had other segments when it was delivered again", filepath.Base(f))
		}
		r.Redone++
	}
	return nil
}

// sealed looks at what was there at each seal: all, so nothing came after one.
func (s *stage) sealed() error {
	seals, _ := filepath.Glob(filepath.Join(s.dir, "seals", "*.json")) // the pattern is sound
	if len(seals) == 0 {
		return errors.New("the output was never sealed")
	}
	for _, f := range seals {
		there, err := readBatch(f)
		if err != nil {
			return err
		}
		there = slices.DeleteFunc(there, func(g string) bool { return strings.HasPrefix(g, counted) })
		slices.Sort(there)
		if n := len(slices.Compact(there)); n != 3*each {
			return fmt.Errorf("%d segments were there when the output was sealed by %s, want %d", n,
				strings.TrimSuffix(filepath.Base(f), ".json"), 3*each)
		}
	}
	return nil
}
