package command

import (
	"context"
	"time"

	"github.com/rota-run/rota/internal/view"
)

// momentForms are how a person writes an instant, with whether the day is missing.
var momentForms = []struct { // read-only: a table
	form string
	day  bool
}{
	{time.RFC3339, false}, {"2006-01-02T15:04:05", false}, {time.DateTime, false}, {"2006-01-02 15:04", false}, {time.TimeOnly, true}, {"15:04", true},
}

// instantOf reads an instant: 14:02 is the last one, today or yesterday, by this machine's clock and time zone.
func instantOf(text string, now time.Time) (time.Time, bool) {
	for _, f := range momentForms {
		t, err := time.ParseInLocation(f.form, text, now.Location())
		switch {
		case err != nil:
		case !f.day:
			return t, true
		default:
			y, m, d := now.Date()
			t = time.Date(y, m, d, t.Hour(), t.Minute(), t.Second(), 0, now.Location())
			if t.After(now) {
				t = t.AddDate(0, 0, -1)
			}
			return t, true
		}
	}
	return time.Time{}, false
}

// showAt shows what the cluster was at a time.
func (o *observer) showAt(ctx context.Context, past *view.Past, text string) error {
	at, ok := instantOf(text, o.now)
	if !ok {
		return misused(`--at 14:02, or --at "2026-11-22 14:02:05"`, "at: %q is not a time", text)
	}
	at = at.Truncate(time.Second).Add(time.Second - time.Millisecond) // what happened in that second had happened: rota log list prints no more
	m, err := past.AsOf(ctx, at.UnixMilli())
	if err != nil {
		return o.notHeld(err)
	}
	if m.Index == m.Oldest.Index && m.AtMS == 0 && m.Index > 0 {
		return failed(o.hint("rota log list"), "store %s: the log does not go back to %s: its oldest entries follow index %d",
			o.name, at.Format(time.DateTime), m.Oldest.Index)
	}
	return o.printMoment(m)
}
