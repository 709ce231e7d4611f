package command

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/view"
)

func newMember(e env) *cobra.Command {
	return group("member", "list members, drain them, plan without them",
		newMemberList(e), newMemberShow(e), newDrain(e), newUndrain(e), newEvict(e), newPlan(e))
}

func newMemberList(e env) *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "list the members", Example: "  rota member list --store file:./rota-data"}
	return watcher(e, cmd, func(ctx context.Context, o *observer, _ []string) error {
		sight, err := o.sight(ctx, false)
		if err != nil {
			return err
		}
		members := sight.Members()
		if o.json {
			return o.printJSON(members)
		}
		return o.printMembers(members)
	})
}

func newMemberShow(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "show MEMBER", Short: "show a member and its tasks", Args: exactArg("a member; rota member list shows them"),
		Example: "  rota member show web-1",
	}
	cmd.Flags().Bool("all", false, "all its tasks, without a limit")
	return watcher(e, cmd, func(ctx context.Context, o *observer, args []string) error {
		m, ok := o.value.Member(cluster.MemberID(args[0]))
		if !ok {
			return failed(o.hint("rota member list"), "there is no member %q", args[0])
		}
		sight, err := o.sight(ctx, false)
		if err != nil {
			return err
		}
		shown := sight.Member(m)
		if o.json {
			return o.printJSON(shown)
		}
		if err := o.printMembers([]view.Member{shown}); err != nil {
			return err
		}
		fmt.Fprintln(o.stdout)
		return o.printTasks(sight.Tasks(view.Filter{Owner: args[0]}))
	})
}

func (o *observer) printMembers(members []view.Member) error {
	rows := [][]string{{
		"MEMBER", "STATE", "HEARTBEAT", "GUARDIAN", "TASKS", "SLOTS", "WEIGHT", "LABELS", "SINCE", "API", "VERSION", "",
	}}
	for _, m := range members {
		rows = append(rows, []string{
			m.Member, m.State, heartbeatText(m.Heartbeat, o.now), guardianText(m.Heartbeat), grouped(m.Tasks), slotText(m),
			fmt.Sprint(m.Weight), labelText(m.Labels), ago(m.SinceMS, o.now), dash(m.Address), dash(m.Version), leaving(m),
		})
	}
	return table(o.stdout, rows)
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
