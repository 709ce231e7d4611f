package command

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rota-run/rota/internal/view"
)

// longestLook is how long a command looks for a heartbeat at most.
const longestLook = 10 * time.Second

// lookPause is between two looks at heartbeats.
const lookPause = 200 * time.Millisecond

// sight looks at heartbeats and at what fails. With sure, it looks on until it has seen each heartbeat change, or not.
func (o *observer) sight(ctx context.Context, sure bool) (s view.Sight, err error) {
	err = o.lookOn(ctx, sure, func(first bool) ([]string, error) {
		if !first {
			if err := o.refresh(ctx); err != nil {
				return nil, err
			}
		}
		if s, err = o.viewer.Look(ctx, o.value); err != nil {
			return nil, fmt.Errorf("store %s: %w", o.name, err)
		}
		return undecided(s, sure), nil
	})
	return s, err
}

// lookOn looks until nothing is open, for a while at most. A heartbeat that is old by its owner's clock proves nothing, for clocks differ: then it looks on
// until there is another one, or none for the TTL by our own clock.
func (o *observer) lookOn(ctx context.Context, quiet bool, look func(first bool) (open []string, err error)) error {
	end := time.Now().Add(longestLook)
	for first := true; ; first = false {
		open, err := look(first)
		if err != nil || len(open) == 0 || time.Now().After(end) {
			return err
		}
		if first && !quiet {
			o.say("looking for another heartbeat of %s, at most %s", strings.Join(open, ", "), longestLook)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(lookPause):
		}
	}
}

// undecided are the members of whom another look may tell more, sorted.
func undecided(s view.Sight, sure bool) (out []string) {
	for m, h := range s.Heartbeats() {
		if h.State == view.HeartbeatLate || sure && h.State == view.HeartbeatPresent {
			out = append(out, string(m))
		}
	}
	slices.Sort(out)
	return out
}

// try is what a reason says to try. Where that ends in a command of ours, it is completed.
func (o *observer) try(text string) string {
	if strings.HasPrefix(text, "rota ") || strings.Contains(text, " rota ") {
		return o.hint(text)
	}
	return text
}

// heartbeatText is a heartbeat in a few words.
func heartbeatText(h *view.Heartbeat, now time.Time) string {
	switch {
	case h == nil:
		return "-"
	case h.State == view.HeartbeatGone:
		return h.State
	case h.State == view.HeartbeatSilent:
		return "silent " + short(time.Duration(h.SilentMS)*time.Millisecond)
	}
	text := "now"
	if age := h.Age(now); age >= time.Second {
		text = "about " + short(age) + " ago"
	}
	if h.Slower() {
		text += fmt.Sprintf(", TTL %s in place of %s", short(time.Duration(h.TTLMS)*time.Millisecond), short(time.Duration(h.UsualTTLMS)*time.Millisecond))
	}
	return text
}
