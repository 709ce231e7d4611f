package sim

import (
	"fmt"
	"strings"
	"time"

	"github.com/rota-run/rota/protocol/replica"
)

// trace writes one line about a step: its number, when, whose, what came in, what went out, and the value behind it.
func (w *world) trace(p *process, ev replica.Event, fx []replica.Effect) {
	out := make([]string, len(fx))
	for i, e := range fx {
		out[i] = describeEffect(e)
	}
	v := p.state.Value()
	fmt.Fprintf(w.conf.Trace, "%7d %12s %-8s %-8s value %d/%s  %s → %s\n", w.events, time.Duration(w.now).Round(time.Microsecond), p.label(), p.state.Phase(),
		v.Index(), v.Digest(), describeEvent(ev), strings.Join(out, ", "))
}

func (p *process) label() string { return fmt.Sprintf("%s#%d", p.name, p.id) }

// note writes a line about what is not a step.
func (w *world) note(format string, args ...any) {
	if w.conf.Trace != nil && (w.conf.TraceTo == 0 || w.events <= w.conf.TraceTo) {
		fmt.Fprintf(w.conf.Trace, "%7s %12s %s\n", "", time.Duration(w.now).Round(time.Microsecond), fmt.Sprintf(format, args...))
	}
}

func describeEvent(ev replica.Event) string {
	switch e := ev.(type) {
	case replica.Read:
		return fmt.Sprintf("read %d entries, head %d%s", len(e.Page.Records), e.Page.Head, problem(e.Err))
	case replica.Appended:
		return fmt.Sprintf("appended #%d at %d (outcome %d)%s", e.Seq, e.Index, e.Outcome, problem(e.Err))
	case replica.Renewed:
		return fmt.Sprintf("renewed %s (outcome %d)%s", e.Key, e.Outcome, problem(e.Err))
	case replica.PulseSeen:
		return fmt.Sprintf("pulse %s is at %q%s", e.Key, e.Version, problem(e.Err))
	case replica.PulsesListed:
		return fmt.Sprintf("%d pulses%s", len(e.Pulses), problem(e.Err))
	case replica.Reported:
		return fmt.Sprintf("supervisor at version %d runs %d", e.Version, len(e.Reports))
	case replica.Hinted:
		return "hint"
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", ev), "replica.")
}

func problem(err string) string {
	if err == "" {
		return ""
	}
	return ": " + err
}

func describeEffect(e replica.Effect) string {
	switch e := e.(type) {
	case replica.Append:
		kinds := make([]string, len(e.Entry.Commands))
		for i, c := range e.Entry.Commands {
			kinds[i] = strings.TrimPrefix(fmt.Sprintf("%+v", c), "cluster.")
			kinds[i] = strings.TrimPrefix(fmt.Sprintf("%T", c), "cluster.") + kinds[i]
		}
		return fmt.Sprintf("append #%d [%s]", e.Entry.Seq, strings.Join(kinds, " "))
	case replica.Renew:
		return "renew " + e.Key
	case replica.CheckPulse:
		return "check " + e.Key
	case replica.WatchPulse:
		return "watch " + e.Key
	case replica.Assign:
		return fmt.Sprintf("assign version %d: %d grants", e.Assignment.Version, len(e.Assignment.Grants))
	case replica.Halt:
		return "halt: " + e.Err.Error()
	case replica.WakeAt:
		return "wake"
	case replica.ReadLog:
		return fmt.Sprintf("read after %d", e.After)
	case replica.Applying:
		return fmt.Sprintf("applied %d entries", len(e.Entries))
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", e), "replica.")
}
