package sim

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/member"
)

// question is what the operator has asked a member for.
type question struct {
	what     string
	commands []cluster.Command
	of       *process
	at       int64
	truth    [][]cluster.Result // what entries with these commands did
}

// applied notes what an entry did with what was asked for.
func (c *client) applied(e cluster.Entry, done cluster.Applied) {
	if done.Duplicate {
		return
	}
	for id, q := range c.asked { // order-free: each is looked at alone
		if !q.of.up {
			delete(c.asked, id)
			continue
		}
		n := len(q.commands)
		for i := 0; i+n <= len(e.Commands); i++ {
			if reflect.DeepEqual(e.Commands[i:i+n], q.commands) {
				q.truth = append(q.truth, done.Results[i:i+n])
				if c.trims {
					c.trims = false
					c.w.after(0, c.w.truncate)
				}
			}
		}
	}
}

// reply takes in an answer: there is one for each question, and it says what the log says.
func (c *client) reply(e member.Reply) {
	q, ok := c.asked[e.ID]
	if !ok {
		c.w.oracle.violate("G5", fmt.Sprintf("request %d was answered twice", e.ID))
		return
	}
	delete(c.asked, e.ID)
	if c.w.machine.Fold == nil { // there is no log to compare it with
		return
	}
	right := slices.ContainsFunc(q.truth, func(r []cluster.Result) bool { return slices.Equal(r, e.Results) })
	if len(e.Results) > 0 && !right && !c.w.oracle.doomed {
		c.w.oracle.violate("G5", fmt.Sprintf("request %d (%s) was answered %v, the log says %v", e.ID, q.what, e.Results, q.truth))
	}
}

// unanswered is a question that a member which lives has owed an answer for longer than a time; "" for none.
func (c *client) unanswered(longer time.Duration) string {
	for _, id := range slices.Sorted(maps.Keys(c.asked)) {
		if q := c.asked[id]; q.of.up && !q.of.paused && c.w.now-q.at > int64(longer) {
			return fmt.Sprintf("request %d (%s) to %s, asked for %s ago, has no answer", id, q.what, q.of.name, time.Duration(c.w.now-q.at))
		}
	}
	return ""
}
