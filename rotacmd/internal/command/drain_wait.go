package command

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/cluster"
)

// waitDrained tells how many tasks a draining member still has, until it has none, is gone, or takes tasks again.
func waitDrained(e env, cmd *cobra.Command, member cluster.MemberID) error {
	limited, cancel := context.WithTimeout(cmd.Context(), answerWithin)
	defer cancel()
	o, err := newObserver(e, cmd)
	if err != nil {
		return err
	}
	if err := o.open(limited); err != nil {
		return err
	}
	defer o.store.Close()
	began, first, last := time.Now(), -1, -1
	return o.watch(cmd.Context(), func() (bool, error) {
		m, ok := o.value.Member(member)
		switch {
		case !ok:
			o.say("%s has left", member)
			return true, nil
		case !m.Draining:
			return true, failed(o.hint("rota drain "+string(member)+" --wait"), "%s takes tasks again: somebody has undrained it", member)
		}
		left := owned(o.value, member)
		if left == 0 {
			o.say("%s has no task any more", member)
			return true, nil
		}
		if first < 0 {
			first = left
		}
		if left != last {
			o.say("%s has %s%s", member, many(left, "task"), estimate(first, left, time.Since(began)))
			last = left
		}
		return false, nil
	})
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
