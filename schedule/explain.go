package schedule

import (
	"fmt"
	"strings"
)

// Reason says why an item has no owner: the rule, what the members lack, and what to try.
type Reason struct{ Rule, Text, Try string }

// Explain says why an item of the class has no owner.
func Explain(v View, class int) Reason {
	c := v.Classes()[class]
	members := v.Members()
	if len(members) == 0 {
		return Reason{Rule: "members", Text: "no member has joined", Try: "rota run"}
	}
	var lacks, draining, full, fit int
	for _, m := range members {
		switch {
		case !Allows(c, m):
			lacks++
		case m.Draining:
			draining++
		case m.Capacity > 0 && m.Count >= m.Capacity:
			full++
		default:
			fit++
		}
	}
	if fit > 0 {
		return Reason{Rule: "placement", Text: "it is about to be placed"}
	}
	return Reason{Rule: c.rule(), Text: tell(len(members), lacks, draining, full), Try: c.try(lacks, draining)}
}

func (c Class) rule() string {
	var parts []string
	for _, l := range c.Selector {
		parts = append(parts, l.Key+"="+l.Value)
	}
	rule := ""
	if len(parts) > 0 {
		rule = "labels: " + strings.Join(parts, ", ")
	}
	if c.Pin != "" {
		rule = "pin: " + c.Pin
	}
	if c.SpreadOver != "" && rule == "" {
		rule = "spread over: " + c.SpreadOver
	}
	if rule == "" {
		return "members"
	}
	return rule
}

func tell(members, lacks, draining, full int) string {
	var parts []string
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	add(lacks, "do not fit the rule")
	add(draining, "draining")
	add(full, "full")
	return fmt.Sprintf("%d members: %s", members, strings.Join(parts, ", "))
}

func (c Class) try(lacks, draining int) string {
	switch {
	case lacks > 0 && len(c.Selector) > 0:
		l := c.Selector[0]
		return fmt.Sprintf("rota run --label %s=%s, or drop the label from the task", l.Key, l.Value)
	case lacks > 0 && c.Pin != "":
		return "rota run --member " + c.Pin + ", or drop the pin from the task"
	case draining > 0:
		return "rota undrain, or start another member"
	}
	return "start another member, or raise its capacity"
}
