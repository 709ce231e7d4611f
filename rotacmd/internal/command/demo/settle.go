package demo

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/node"
)

// await looks again and again until a condition holds, a member that should run has ended, or patience is over.
func (p *Play) await(ctx context.Context, what string, holds func() (bool, error)) error {
	tick := time.NewTicker(glance)
	defer tick.Stop()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		ok, err := holds()
		if err != nil || ok {
			return err
		}
		select {
		case <-tick.C:
		case <-limit.C:
			return fmt.Errorf("waited %s and it is not so: %s", patience, what)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// rest lets a beat pass.
func (p *Play) rest(ctx context.Context) error {
	over := time.Now().Add(p.screen.Beat())
	return p.await(ctx, "the pause is over", func() (bool, error) { return !time.Now().Before(over), p.look(ctx) })
}

// settle waits until exactly these members are joined, each task runs on one of them, and nothing is on its way.
func (p *Play) settle(ctx context.Context, what string, live ...string) error {
	return p.await(ctx, what, func() (bool, error) {
		for _, m := range live {
			select {
			case <-p.members[m].done():
				return false, fmt.Errorf("member %s ended: %w; %s", m, p.members[m].err(), p.said(m))
			default:
			}
		}
		if err := p.look(ctx); err != nil {
			return false, err
		}
		return p.settled(live)
	})
}

func (p *Play) look(ctx context.Context) error {
	v, err := p.options.Protocol.Observe(ctx, p.store, p.value)
	if err != nil {
		return err
	}
	p.value = v
	p.screen.Show(p.rows())
	return nil
}

func (p *Play) settled(live []string) (bool, error) {
	var joined []string
	for m := range p.value.Members() {
		if m.State == cluster.MemberJoined && !m.Draining {
			joined = append(joined, string(m.ID))
		}
	}
	if !slices.Equal(joined, live) || p.value.InHandover() > 0 || !p.even(live) {
		return false, nil
	}
	lines, err := p.readLines()
	if err != nil {
		return false, err
	}
	runs := running(lines)
	for _, t := range p.tasks {
		part, ok := p.value.Partition(cluster.PartitionID(t))
		if !ok || part.State != cluster.PartitionGranted || !runs[run{t, uint64(part.Token)}] {
			return false, nil
		}
	}
	return true, nil
}

// run is one of a partition under a token; a member that has lost its lease for a moment stops it, and starts it again.
type run struct {
	partition string
	token     uint64
}

// running are those that have started and not stopped.
func running(lines []node.WitnessLine) map[run]bool {
	out := map[run]bool{}
	for _, l := range lines { // what is written of one run is in its order
		switch l.Event {
		case "start":
			out[run{l.Partition, l.Token}] = true
		case "stop":
			delete(out, run{l.Partition, l.Token})
		}
	}
	return out
}

// even tells whether the shares of the members differ by at most one.
func (p *Play) even(live []string) bool {
	least, most := len(p.tasks), 0
	for _, m := range live {
		n := len(p.owned(m))
		least, most = min(least, n), max(most, n)
	}
	return most-least <= 1
}

// owned are the tasks of a member, as far as the store says.
func (p *Play) owned(member string) []string {
	var out []string
	for part := range p.value.OwnedBy(cluster.MemberID(member)) {
		if string(part.Owner) == member && slices.Contains(p.tasks, string(part.ID)) {
			out = append(out, string(part.ID))
		}
	}
	return out
}

// shares says how many tasks each member runs.
func (p *Play) shares() string {
	first := len(p.owned(names[0]))
	text := ""
	same := true
	for _, m := range names {
		n := len(p.owned(m))
		same = same && n == first
		text += fmt.Sprintf(" %s %d", m, n)
	}
	if same {
		return fmt.Sprintf("%d each", first)
	}
	return text[1:]
}

func (p *Play) rows() []Row {
	rows := make([]Row, len(names))
	for i, n := range names {
		rows[i] = Row{Member: n, State: "gone", Tasks: p.owned(n)}
		if m, ok := p.value.Member(cluster.MemberID(n)); ok {
			rows[i].State = m.State.String()
			if m.Draining {
				rows[i].State = "draining"
			}
		}
	}
	return rows
}
