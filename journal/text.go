package journal

import (
	"fmt"
	"strings"
	"time"

	"github.com/rota-run/rota/internal/plain"
)

// Line returns the record on one line, without its time and kind. Control and bidi characters become spaces.
func (r Record) Line() string {
	var parts []string
	add := func(s string) {
		if s != "" {
			parts = append(parts, s)
		}
	}
	if r.Storage != nil {
		place := r.Storage.Path
		if r.Storage.Line > 0 {
			place += fmt.Sprintf(":%d:%d", r.Storage.Line, r.Storage.Column)
		}
		add(place)
	} else {
		add(r.Partition)
	}
	switch {
	case r.From != "" && r.To != "":
		add(r.From + " → " + r.To)
	case r.To != "":
		add("→ " + r.To)
	}
	add(r.Message)
	add(r.Cause)
	switch {
	case r.By != "":
		add("by " + r.By)
	case r.GapMS != nil:
		add(gap(*r.GapMS))
	case r.GapAtLeastMS != nil:
		add("gap unknown, at least " + (time.Duration(*r.GapAtLeastMS) * time.Millisecond).String())
	case r.Kind == Moved:
		add("gap unknown")
	}
	return plain.Line(strings.Join(parts, "  "), ' ')
}

func gap(ms int64) string {
	if ms < 0 {
		return fmt.Sprintf("overlap %s", time.Duration(-ms)*time.Millisecond)
	}
	return fmt.Sprintf("gap %s", time.Duration(ms)*time.Millisecond)
}

// String returns the record as rota events shows it: time, kind, what happened; below a malformed definition the relevant lines.
func (r Record) String() string {
	s := fmt.Sprintf("%s  %-10s  %s", time.UnixMilli(r.AtMS).Format("15:04:05"), r.Kind, r.Line())
	if r.Storage != nil {
		for _, l := range r.Storage.Lines {
			s += "\n      " + plain.Line(l, ' ')
		}
	}
	return s
}
