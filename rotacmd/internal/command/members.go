package command

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/view"
)

func newMembers(e env) *cobra.Command {
	return watcher(e, &cobra.Command{Use: "members", Short: "list the members"}, func(ctx context.Context, o *observer, _ []string) error {
		sight, err := o.sight(ctx, false)
		if err != nil {
			return err
		}
		members := sight.Members()
		if o.json {
			return o.printJSON(members)
		}
		rows := [][]string{{"MEMBER", "STATE", "HEARTBEAT", "GUARDIAN", "TASKS", "SLOTS", "WEIGHT", "LABELS", "SINCE", "API", "VERSION", ""}}
		for _, m := range members {
			rows = append(rows, []string{
				m.Member, m.State, heartbeatText(m.Heartbeat, o.now), guardianText(m.Heartbeat), grouped(m.Tasks), slotText(m), fmt.Sprint(m.Weight), labelText(m.Labels), ago(m.SinceMS, o.now), dash(m.Address), dash(m.Version), leaving(m),
			})
		}
		return table(o.stdout, rows)
	})
}

func guardianText(h *view.Heartbeat) string {
	if h == nil {
		return "-"
	}
	return dash(h.Guardian)
}

// slotText is how many slots are taken of those that there are.
func slotText(m view.Member) string {
	if m.Slots == 0 {
		return "-"
	}
	return fmt.Sprintf("%d/%d", m.SlotsTaken, m.Slots)
}

// labelText leaves out the labels that Rota gives itself.
func labelText(labels map[string]string) string {
	var out []string
	for k, v := range labels {
		if !strings.HasPrefix(k, "rota.") {
			out = append(out, k+"="+v)
		}
	}
	slices.Sort(out)
	return dash(strings.Join(out, ","))
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func leaving(m view.Member) string {
	if m.Leaving == 0 {
		return ""
	}
	return fmt.Sprintf("%d on their way to others", m.Leaving)
}
