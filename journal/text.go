package journal

import (
	"fmt"
	"strings"
	"time"
)

// Line is the record on one line, without its time and kind.
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
	if r.GapMS != nil {
		add(gap(*r.GapMS))
	}
	return strings.Join(parts, "  ")
}

func gap(ms int64) string {
	if ms < 0 {
		return fmt.Sprintf("overlap %s", time.Duration(-ms)*time.Millisecond)
	}
	return fmt.Sprintf("gap %s", time.Duration(ms)*time.Millisecond)
}

// String is the record as rota journal shows it: time, kind, what happened; below a malformed definition the lines concerned.
func (r Record) String() string {
	s := fmt.Sprintf("%s  %-10s  %s", time.UnixMilli(r.AtMS).Format("15:04:05"), short(r.Kind), r.Line())
	if r.Storage != nil {
		for _, l := range r.Storage.Lines {
			s += "\n      " + l
		}
	}
	return s
}

func short(k Kind) string {
	if k == Malformed {
		return "malformed"
	}
	return string(k)
}
