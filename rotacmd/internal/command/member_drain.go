package command

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/operate"
	"github.com/rota-run/rota/internal/view"
)

func newDrain(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "drain MEMBER", Short: "move a member's tasks away and give it no more",
		Example: "  rota member drain web-1 --wait",
	}
	wait := cmd.Flags().Bool("wait", false, "wait until the member has no task any more")
	asked(cmd.Flags(), "wait")
	return proposer(e, cmd, asking[cluster.MemberID]{
		list: "member list", do: (*operate.Operator).Drain,
		done: "%s is draining: its tasks move away · watch it: rota member list --store %s",
		then: func(ctx context.Context, o *observer, args []string) error {
			if !*wait {
				return nil
			}
			return o.waitDrained(ctx, cluster.MemberID(args[0]))
		},
	})
}

func newUndrain(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "undrain MEMBER", Short: "give a drained member tasks again", Example: "  rota member undrain web-1",
	}
	return proposer(e, cmd, asking[cluster.MemberID]{
		list: "member list", do: (*operate.Operator).Undrain,
		done: "%s takes tasks again · see them: rota member list --store %s",
	})
}

const evictHelp = `Ends a member: it is told, its tasks move away, and its process leaves and ends with exit code 3. It comes back when
it is started again. A suspended member is told when it resumes, and may run a task for a moment first; others take its
tasks after its TTL. If it has announced a restart, the others stop waiting for it.`

func newEvict(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "evict MEMBER", Short: "end a member; it comes back only when it is started again",
		Example: "  rota member evict web-1", Long: evictHelp,
	}
	return proposer(e, cmd, asking[cluster.MemberID]{
		list: "member list", do: (*operate.Operator).Evict,
		done: "%s is evicted: the members that are left take its tasks · see them: rota member list --store %s",
	})
}

// waitDrained tells how many tasks a draining member still has, until it has none, is gone, or takes tasks again.
func (o *observer) waitDrained(ctx context.Context, member cluster.MemberID) error {
	if err := o.refresh(ctx); err != nil {
		return err
	}
	d := draining{observer: o, member: member}
	return o.watch(o.cmd.Context(), d.see)
}

// drainPatience is how long a drain is waited for of which nothing is seen: no task goes.
const drainPatience = 2 * time.Minute

// draining is a member that gives its tasks away.
type draining struct {
	*observer
	member      cluster.MemberID
	began       time.Time // of the waiting
	moved       time.Time // when the number of tasks was last seen to change
	first, last int       // numbers of tasks
}

// see tells what has changed. It ends when nothing is left, and with an error when nobody takes what is left for so
// long that a person must help.
func (d *draining) see() (bool, error) {
	m, ok := d.value.Member(d.member)
	switch {
	case !ok:
		d.say("%s has left", d.member)
		return true, nil
	case !m.Draining:
		return true, failed(d.hint("rota member drain "+string(d.member)+" --wait"),
			"%s takes tasks again: somebody has undrained it", d.member)
	}
	left := owned(d.value, d.member)
	switch {
	case left == 0:
		d.say("%s has no task any more", d.member)
		return true, nil
	case d.began.IsZero():
		d.began, d.first = d.now, left
		if why := d.stuck(); why != "" {
			d.say("! %s; it waits for %s", why, short(drainPatience))
		}
	case left == d.last && d.now.Sub(d.moved) >= drainPatience:
		why := cmp.Or(d.stuck(), "they do not stop, or nobody has taken them yet")
		return true, failed(d.hint("rota member plan "+string(d.member)),
			"%s still has %s, and none has gone for %s: %s", d.member, many(left, "task"), short(drainPatience), why)
	}
	if left != d.last {
		d.say("%s has %s%s", d.member, many(left, "task"), estimate(d.first, left, d.now.Sub(d.began)))
		d.last, d.moved = left, d.now
	}
	return false, nil
}

// stuck says what nobody else can take; "" if there is nothing.
func (d *draining) stuck() string {
	plan, err := view.PlanWithout(d.value, []cluster.MemberID{d.member})
	if err != nil || len(plan.Waits) == 0 {
		return ""
	}
	text := fmt.Sprintf("nobody can take %s of %s, such as %s", many(len(plan.Waits), "task"), d.member,
		plan.Waits[0].Task)
	if r := plan.Waits[0].Reason; r != nil {
		text += ": " + ruleText(r)
	}
	return text
}

// owned counts the tasks of users that a member has yet to stop.
func owned(v cluster.Value, member cluster.MemberID) (n int) {
	for p := range v.OwnedBy(member) {
		if p.Owner == member && !strings.HasPrefix(string(p.ID), "rota.") {
			n++
		}
	}
	return n
}

// estimate is how long the rest takes at the rate so far; "" while there is none.
func estimate(first, left int, took time.Duration) string {
	if left >= first || took <= 0 {
		return ""
	}
	return fmt.Sprintf(", about %s more", short(took*time.Duration(left)/time.Duration(first-left)))
}
