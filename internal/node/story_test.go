package node

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/stories"
	"github.com/rota-run/rota/internal/proof/virtual"
	"github.com/rota-run/rota/internal/protocol/leader"
	"github.com/rota-run/rota/internal/protocol/lease"
	"github.com/rota-run/rota/internal/protocol/replica"
	"github.com/rota-run/rota/internal/store/faults"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store/memory"
)

// TestStories plays testdata/stories: what happens to members, an act a line, and what they do and journal. "under"
// names the protocols of a story; the usual one is replica. In a text "_" is a space.
func TestStories(t *testing.T) {
	for _, st := range stories.Read(t, "testdata/stories/*.txt") {
		under, acts := "replica", st.Acts
		if rest, ok := strings.CutPrefix(acts[0], "under "); ok {
			under, acts = rest, acts[1:]
		}
		for _, p := range strings.Fields(under) {
			t.Run(st.Name+" "+p, func(t *testing.T) {
				virtual.Test(t, func(t *testing.T) { playStory(t, p, acts) })
			})
		}
	}
}

// story is members on one store.
type story struct {
	t        *testing.T
	protocol protocol.Protocol
	server   *memory.Server
	nodes    map[string]*bundle
	away     map[string]*atomic.Bool  // those on a cable
	jumped   map[string]*atomic.Int64 // how far the clock of a member went on while it was suspended
	began    time.Time                // of what is measured
	took     time.Duration
}

func playStory(t *testing.T, p string, acts []string) {
	all := map[string]protocol.Protocol{
		"replica": replica.Protocol{}, "leader": leader.Protocol{}, "lease": lease.Protocol{},
	}
	s := &story{
		t: t, protocol: all[p], server: memory.New(),
		nodes: map[string]*bundle{}, away: map[string]*atomic.Bool{}, jumped: map[string]*atomic.Int64{},
	}
	for _, line := range acts {
		act := strings.Fields(line)
		w := words{act[0], nil, map[string]string{}}
		for _, word := range act[1:] {
			if k, v, ok := strings.Cut(word, "="); ok {
				w.set[k] = strings.ReplaceAll(v, "_", " ")
			} else {
				w.list = append(w.list, word)
			}
		}
		s.play(w)
	}
}

// words are those of an act: what is done, to whom, and options key=value.
type words struct {
	do   string
	list []string
	set  map[string]string
}

func (w words) at(i int) string { return w.list[i] }

func (w words) has(s string) bool { return slices.Contains(w.list, s) }

func (w words) number(i int) int {
	n, err := strconv.Atoi(w.list[i])
	if err != nil {
		panic(err)
	}
	return n
}

// length reads a time, where "took" is what was measured.
func (s *story) length(text string) time.Duration {
	rest, relative := strings.CutPrefix(text, "took")
	d, err := time.ParseDuration(rest)
	must.Succeed(s.t, err)
	if relative {
		d += s.took
	}
	return d
}

func (s *story) play(w words) {
	s.t.Helper()
	switch w.do {
	case "sleep":
		time.Sleep(s.length(w.at(0))) // waits: in virtual time
	case "mark":
		s.began = time.Now()
	case "took": // took [most]
		if s.took = time.Since(s.began); len(w.list) > 0 && s.took > s.length(w.at(0)) {
			s.t.Errorf("it took %v, want %s at most", s.took, w.at(0))
		}
	case "away", "back":
		s.away[w.at(0)].Store(w.do == "away")
	case "jump":
		s.jumped[w.at(0)].Add(int64(s.length(w.at(1))))
	case "start":
		s.start(w)
	case "runs": // runs a 2 b 1: so many tasks
		await(s.t, fmt.Sprint("they run ", w.list), func() bool {
			for i := 0; i < len(w.list); i += 2 {
				if s.nodes[w.at(i)].Status().Work.Counts.Running != w.number(i+1) {
					return false
				}
			}
			return true
		})
	case "in-all": // in-all 4: so many tasks run on all members
		await(s.t, fmt.Sprint("all run ", w.list), func() bool {
			n := 0
			for _, b := range s.nodes {
				n += b.Status().Work.Counts.Running
			}
			return n == w.number(0)
		})
	default:
		s.member(s.nodes[w.at(0)], w)
	}
}

// start starts a member: on a cable its store can be away.
func (s *story) start(w words) {
	name := w.at(0)
	away, jumped := new(atomic.Bool), new(atomic.Int64)
	s.away[name], s.jumped[name] = away, jumped
	s.nodes[name] = start(s.t, s.server, name, func(c *Config) {
		clock := c.Clock
		c.Protocol, c.Clock = s.protocol, func() protocol.Instant { return clock() + protocol.Instant(jumped.Load()) }
		if w.has("cable") {
			c.Store = faults.NewFaulty(c.Store.(faults.Full), func(faults.Call) faults.Outcome {
				if away.Load() {
					return faults.Refused
				}
				return faults.Pass
			})
		}
		for k, v := range w.set { // order-free: each has a field of its own
			switch k {
			case "ttl":
				c.TTL = s.length(v)
			case "hold":
				c.Hold = s.length(v)
			case "hold-under-replica":
				if c.Protocol.Name() == "replica" {
					c.Hold = s.length(v)
				}
			case "drain":
				c.DrainTimeout = s.length(v)
			case "label":
				c.Labels = map[string]string{v: "yes"}
			default:
				s.t.Fatalf("a member has no %s", k)
			}
		}
	})
}

// member plays an act of one member, or one that is seen through it.
func (s *story) member(b *bundle, w words) {
	s.t.Helper()
	switch w.do {
	case "submit": // submit a x fail pin=b keys=1,2
		b.submit(w.at(1), s.task(w))
	case "leave":
		b.leave()
	case "drain": // drain a b on
		c := cluster.DrainMember{Member: cluster.MemberID(w.at(1)), On: w.at(2) == "on"}
		must.Succeed(s.t, must.Err(b.Propose(s.t.Context(), c)))
	case "keep-drained": // keep-drained a b on: as drain of the command does
		_, err := KeepDrained(s.t.Context(), b.c.Store, cluster.MemberID(w.at(1)), w.at(2) == "on", "ann@laptop")
		must.Succeed(s.t, err)
	case "draining":
		await(s.t, w.at(1)+" is drained", func() bool {
			m, _ := b.Value().Member(cluster.MemberID(w.at(1)))
			return m.Draining
		})
	case "owner": // owner a x b: a knows that x is b's
		await(s.t, fmt.Sprint(w.list), func() bool {
			p, _ := b.Value().Partition(cluster.PartitionID(w.at(1)))
			return string(p.Owner) == w.at(2)
		})
	case "parked":
		await(s.t, w.at(1)+" is parked", func() bool {
			p, _ := b.Value().Partition(cluster.PartitionID(w.at(1)))
			return p.State == cluster.PartitionParked
		})
	case "fails": // fails a x 6: so many times more
		now := func() int64 { p, _ := b.Value().Partition(cluster.PartitionID(w.at(1))); return p.Attempts }
		least := now() + int64(w.number(2))
		await(s.t, fmt.Sprint(w.list), func() bool { return now() >= least })
	case "knows", "evict", "evicted", "forgot", "not-held":
		s.evicts(b, w)
	default:
		s.journal(b, w)
	}
}

func (s *story) task(w words) cluster.TaskSpec {
	t := cluster.TaskSpec{Type: "stay", Pin: cluster.MemberID(w.set["pin"])}
	if len(w.list) > 2 {
		t.Type = w.at(2)
	}
	if k := w.set["keys"]; k != "" {
		t.Spread, t.Partitions = cluster.SpreadPartitioned, strings.Split(k, ",")
	}
	if w.has("every") {
		t.Type, t.Spread = "stay", cluster.SpreadEvery
	}
	if h := w.set["handover"]; h != "" {
		must.Succeed(s.t, t.Handover.UnmarshalText([]byte(h)))
	}
	if l := w.set["label"]; l != "" {
		t.Selector = []cluster.Label{{Key: l, Value: "yes"}}
	}
	if n := w.set["attempts"]; n != "" {
		attempts, err := strconv.Atoi(n)
		must.Succeed(s.t, err)
		t.MaxAttempts = int64(attempts)
	}
	return t
}
