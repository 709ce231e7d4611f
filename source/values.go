package source

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/safetext"
)

// setter stores the value of a field, or says why it does not fit and what to try.
type setter = func(v *node) (message, hint string)

func wrongKind(v *node, want string) (message, hint string) {
	return fmt.Sprintf("%s, want %s", v.kind, want), ""
}

// scalar is the text of a text, number or boolean, as it is written: a label 1.10 stays 1.10.
func (n *node) scalar() (string, bool) {
	return n.raw, n.kind == text || n.kind == number || n.kind == boolean
}

func textTo(to *string) setter {
	return func(v *node) (string, string) {
		s, ok := v.scalar()
		switch {
		case !ok:
			return wrongKind(v, "a text")
		case strings.TrimSpace(s) == "":
			return "it is empty", "give it a value, or drop the field"
		}
		*to = s
		return "", ""
	}
}

func wholeTo(to *int64, least, most int64, hint string) setter {
	return func(v *node) (string, string) {
		n, err := strconv.ParseInt(v.json, 10, 64)
		switch {
		case v.kind != number:
			return wrongKind(v, "a whole number")
		case v.octal() != nil:
			return octalFault(v)
		case err != nil:
			return fmt.Sprintf("%.40s is not a whole number, or too large", v.raw), hint
		case n < 0:
			return fmt.Sprintf("%d is negative", n), hint
		case n < least:
			return fmt.Sprintf("%d is below %d", n, least), hint
		case n > most:
			return fmt.Sprintf("%d is above %d", n, most), hint
		}
		*to = n
		return "", ""
	}
}

const (
	maxPeriod   = 366 * 24 * time.Hour
	maxDuration = 64 // bytes
)

func durationTo(ms *int64) setter {
	return func(v *node) (string, string) {
		s, ok := v.scalar()
		if !ok {
			return wrongKind(v, "a duration such as 10s")
		}
		if len(s) > maxDuration {
			return fmt.Sprintf("%d bytes are no duration", len(s)), "such as 10s or 1m30s"
		}
		d, err := time.ParseDuration(strings.TrimSpace(s))
		switch {
		case v.kind == number:
			return fmt.Sprintf("%.40s has no unit", v.raw), "such as 10s or 1m30s"
		case err != nil && strings.Trim(s, "0123456789") == "d":
			return fmt.Sprintf("%.40q: days have no unit here", s), "write hours: 24h"
		case err != nil:
			return fmt.Sprintf("%.40q is not a duration", s), "such as 10s or 1m30s"
		case d < 0:
			return s + " is negative", ""
		case d < time.Millisecond:
			return s + " is too short", "at least 1ms"
		case d > maxPeriod:
			return s + " is too long", "at most 8784h, a year"
		}
		*ms = d.Milliseconds()
		return "", ""
	}
}

// choiceTo reads one of the named choices.
func choiceTo[T any](to *T, names []string, choices []T) setter {
	return func(v *node) (string, string) {
		s, ok := v.scalar()
		i := slices.Index(names, s)
		switch {
		case !ok:
			return wrongKind(v, "one of "+strings.Join(names, ", "))
		case i < 0:
			return fmt.Sprintf("%.40q is not a choice", s), suggest(s, names)
		}
		*to = choices[i]
		return "", ""
	}
}

// pairsOf reads a mapping of texts, sorted by key.
func (d *decoder) pairsOf(name string, to *[]cluster.Label) setter {
	return func(v *node) (string, string) {
		if v.kind != mapping {
			return wrongKind(v, `a mapping such as {zone: a}`)
		}
		if len(v.pairs) > cluster.MaxLabels {
			return fmt.Sprintf("%d of them, at most %d are allowed", len(v.pairs), cluster.MaxLabels), ""
		}
		for _, p := range v.pairs {
			var s string
			message, hint := textTo(&s)(p.value)
			switch {
			case p.key == "" || len(p.key) > 128 || strings.ContainsFunc(p.key+s, safetext.Deceives):
				d.fail(p.place, fmt.Sprintf("%s: %.40q is empty, longer than 128 bytes, or has a control or invisible character", name, p.key), "")
			case message != "":
				d.fail(p.value.place, fmt.Sprintf("%s.%s: %s", name, p.key, message), hint)
			case len(s) > cluster.MaxText:
				d.fail(p.value.place, fmt.Sprintf("%s.%s: %d bytes, at most %d are allowed", name, p.key, len(s),
					cluster.MaxText), "")
			}
			*to = append(*to, cluster.Label{Key: p.key, Value: s})
		}
		slices.SortFunc(*to, func(a, b cluster.Label) int { return strings.Compare(a.Key, b.Key) })
		return "", ""
	}
}

// keysTo reads the keys of partitions.
func (d *decoder) keysTo(to *[]string) setter {
	return func(v *node) (string, string) {
		if v.kind != list {
			return wrongKind(v, "a list of texts")
		}
		if n := len(v.items); n == 0 || n > cluster.MaxPartitions {
			return fmt.Sprintf("%d keys, between 1 and %d are allowed", n, cluster.MaxPartitions), ""
		}
		seen := make(map[string]bool, len(v.items))
		for i, item := range v.items {
			s, ok := item.scalar()
			err := cluster.CheckKey(s)
			switch {
			case !ok:
				d.fail(item.place, fmt.Sprintf("partitions[%d]: %s, want a text", i, item.kind), "")
			case err != nil:
				d.fail(item.place, fmt.Sprintf("partitions[%d]: %v", i, err), "")
			case seen[s]:
				d.fail(item.place, fmt.Sprintf("partitions[%d]: duplicate key %.40q", i, s), "drop one of them")
			}
			seen[s] = true
			*to = append(*to, s)
		}
		return "", ""
	}
}
