package command

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/node"
	"github.com/rota-run/rota/store"
)

// memberSink is a sink of one member.
type memberSink struct {
	Member cluster.MemberID `json:"member"`
	node.Sink
}

// sinksOf is what the members have written of their sinks: those that fail come first, and then by member. A command
// asks no member, since the address in its record is as good as anybody who can write the store: see decision 82.
func sinksOf(ctx context.Context, docs store.Docs, v cluster.Value) ([]memberSink, error) {
	all := []memberSink{}
	found, err := docs.List(ctx, node.SinksPrefix)
	if err != nil {
		return nil, fmt.Errorf("read what the sinks say: %w", err)
	}
	for _, d := range found {
		var said node.Sinks
		if json.Unmarshal(d.Value, &said) != nil || d.Key != node.SinksPrefix+string(said.Member) {
			continue
		}
		if _, in := v.Member(said.Member); !in {
			continue
		}
		for _, s := range said.Sinks {
			all = append(all, memberSink{said.Member, s})
		}
	}
	slices.SortStableFunc(all, func(a, b memberSink) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.Member, b.Member))
	})
	return all, nil
}

func (s *memberSink) rank() int {
	if s.Late || s.Errors > 0 || s.Dropped > 0 {
		return 0
	}
	return 1
}

// sinkRows are lines for people.
func sinkRows(all []memberSink, now time.Time) (rows [][]string) {
	for _, s := range all {
		row := []string{"sink", s.Name, "on " + string(s.Member), "dropped " + grouped(int(s.Dropped)), "errors " + grouped(int(s.Errors))}
		if s.Late {
			row = append(row, "samples wait")
		}
		if s.LastError != "" {
			row = append(row, fmt.Sprintf("last error %s: %s", clock(s.LastErrorAtMS, now), s.LastError))
		}
		rows = append(rows, row)
	}
	return rows
}

// printSinks shows those that fit on a screen.
func (o *observer) printSinks(all []memberSink) error {
	shown := o.fits(len(all), problemsShown)
	if err := table(o.stdout, sinkRows(all[:shown], o.now)); err != nil {
		return err
	}
	o.more(len(all)-shown, " sinks")
	return nil
}
