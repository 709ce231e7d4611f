package sim

import (
	"fmt"
	"strings"
	"time"

	"github.com/rota-run/rota/proof/sim/machine"
)

// trace writes one line about a step: its number, when, whose, what came in, what went out, and the value behind it.
func (w *world) trace(p *process, ev machine.Event, fx []machine.Effect) {
	out := make([]string, len(fx))
	for i, e := range fx {
		out[i] = w.describe(e)
	}
	v := p.state.Value()
	fmt.Fprintf(w.conf.Trace, "%7d %12s %-8s %-8s value %d/%s  %s → %s\n", w.events, time.Duration(w.now).Round(time.Microsecond), p.label(), p.state.Phase(),
		v.Index(), v.Digest(), w.describe(ev), strings.Join(out, ", "))
}

func (p *process) label() string { return fmt.Sprintf("%s#%d", p.name, p.id) }

// note writes a line about what is not a step.
func (w *world) note(format string, args ...any) {
	fmt.Fprintf(w.digest, "\n%d "+format, append([]any{w.now}, args...)...)
	if w.conf.Trace != nil && (w.conf.TraceTo == 0 || w.events <= w.conf.TraceTo) {
		fmt.Fprintf(w.conf.Trace, "%7s %12s %s\n", "", time.Duration(w.now).Round(time.Microsecond), fmt.Sprintf(format, args...))
	}
}

// describe is what there is to an event or an effect, or how that begins.
func (w *world) describe(x any) string {
	if w.conf.Whole {
		return string(machine.AppendText(nil, x))
	}
	return machine.Short(x)
}
