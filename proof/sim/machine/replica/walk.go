package replica

import (
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/replica"
	"github.com/rota-run/rota/proof/sim/machine"
	"github.com/rota-run/rota/proof/sim/walk"
	"github.com/rota-run/rota/store"
)

// Rules are those of replica's walks.
func Rules() *walk.Rules {
	return &walk.Rules{
		Machine: Machine(), Way: way, Prompt: prompt, Names: names, JoinFirst: true, Key: key, Effect: effect, Event: walk.Appended,
		Heartbeat: func(string) bool { return true },
		Read:      func(_ machine.State, p store.Page) machine.Event { return member.Read{Page: p} },
	}
}

// way: a member's first heartbeat is written at once, for nobody knows of it; of another one somebody may have heard, and look.
func way(c walk.Config, e machine.Effect) walk.Way {
	switch e := e.(type) {
	case member.Append:
		return walk.Risky
	case member.Renew:
		if e.Life > 0 {
			return walk.Secret
		}
		return walk.Unseen
	case replica.CheckHeartbeat:
		return walk.Quiet
	case replica.ListHeartbeats:
		if c.Sweeps {
			return walk.Quiet
		}
	case member.ReadLog:
		if e.After == 0 {
			return walk.Unseen
		}
	case member.ReadSnapshot:
		return walk.Unseen
	}
	return walk.Ignored
}

// prompt: a look at a heartbeat that is there, a list without gaps.
func prompt(st walk.Store, s machine.State, e machine.Effect) bool {
	if e, ok := e.(replica.CheckHeartbeat); ok {
		return st.Exists(e.Key)
	}
	v := s.Value()
	for m := range v.Members() {
		if !st.Exists(m.Heartbeat) { // nobody is held here
			return false
		}
	}
	return true
}

func names(e machine.Effect) []string {
	switch e := e.(type) {
	case member.Append:
		return walk.Heartbeats(nil, e.Entry.Commands)
	case member.Renew:
		return []string{e.Key}
	case replica.CheckHeartbeat:
		return []string{e.Key}
	}
	return nil
}

func effect(b []byte, e machine.Effect, n *walk.Names) []byte {
	switch e := e.(type) {
	case member.Append:
		return n.Entry(append(b, 'a'), e.Entry)
	case member.Renew:
		return append(append(append(b, 'r'), e.Key...), 0)
	case replica.CheckHeartbeat:
		return append(append(append(b, 'c'), e.Key...), 0)
	}
	return append(b, 'l')
}
