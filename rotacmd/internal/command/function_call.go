package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rota-run/rota/call"
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/view"
)

const callHelp = `Calls a function that members have, with an argument as JSON, and prints its result.

The call is kept in the store: it goes on when this command ends, also when the member that runs it dies. This binary's
members have ping, if they have slots (rota run --slots 4); a program that embeds Rota brings its own functions
(docs/guide/functions.md).`

// caller is one call of a function.
type caller struct {
	*observer
	arg      string
	options  call.Options
	patience time.Duration
	detach   bool
	as       string
}

// Called is what rota function call prints as JSON.
type Called struct {
	Call     string          `json:"call"`
	State    string          `json:"state"` // submitted, done, failed, cancelled or cancelling
	Result   json.RawMessage `json:"result,omitempty"`
	Error    string          `json:"error,omitempty"`
	Attempts int64           `json:"attempts,omitempty"`
	Member   string          `json:"member,omitempty"`
}

func newFunction(e env) *cobra.Command {
	return group("function", "call functions that members have, wait for calls, cancel them",
		newCall(e), newCallList(e), newCallWait(e), newCallCancel(e))
}

func newCall(e env) *cobra.Command {
	c := &caller{}
	cmd := &cobra.Command{
		Use: "call FUNCTION", Short: "call a function that members have", Long: callHelp, Args: exactArg("a function"),
		Example: "  rota function call ping --store file:./rota-data\n" +
			"  rota function call resize --arg '{\"file\": \"a.png\", \"width\": 80}' --detach",
	}
	flags := cmd.Flags()
	flags.StringVar(&c.arg, "arg", "null", "argument of the function, as JSON")
	flags.BoolVar(&c.detach, "detach", false, "do not wait for the result; also where no member has the function yet")
	waitFlag(flags, &c.patience)
	flags.IntVar(&c.options.Attempts, "attempts", 0, "most runs; 0: the default, 5")
	flags.StringVar(&c.options.Key, "key", "",
		"a name for the call: submitted again, by a command with the same --as, it is the same call")
	flags.StringVar(&c.as, "as", "",
		"who calls: members share their slots fairly among callers; default: a random name, with --key: rota-call")
	flags.DurationVar(&c.options.Delay, "delay", 0, "let it wait so long before it runs")
	flags.DurationVar(&c.options.Timeout, "timeout", 0, "of one run; 0: none")
	asked(flags, "arg", "detach", "key", "as", "delay", "attempts", "timeout")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if !json.Valid([]byte(c.arg)) {
			return misused(`--arg '{"text": "hello"}', or --arg '"text"' for a text alone`, "arg %q is not JSON", c.arg)
		}
		if c.options.Key != "" && c.as == "" {
			c.as = "rota-call"
		}
		return nil
	}
	return changer(e, cmd, func(ctx context.Context, o *observer, args []string) error {
		c.observer = o
		return c.withClient(func(client *call.Client) error {
			h, err := c.submit(ctx, client, args[0])
			switch {
			case err != nil:
				return err
			case c.detach:
				return c.tellSubmitted(h)
			}
			return c.await(cmd.Context(), h)
		})
	})
}

func waitFlag(flags *pflag.FlagSet, patience *time.Duration) {
	flags.DurationVar(patience, "wait", 0, "how long to wait for the result; 0: until it is there")
	asked(flags, "wait")
}

func newCallWait(e env) *cobra.Command {
	c := &caller{}
	cmd := &cobra.Command{
		Use: "wait CALL", Short: "wait for a call, and print its result",
		Args:    exactArg("a call; rota function list shows them"),
		Example: "  rota function wait cli-5f0c19aa/5f0c19aa-000001/000",
	}
	waitFlag(cmd.Flags(), &c.patience)
	return c.attached(e, cmd, func(_ context.Context, h *call.Handle) error { return c.await(cmd.Context(), h) })
}

func newCallCancel(e env) *cobra.Command {
	c := &caller{}
	cmd := &cobra.Command{
		Use: "cancel CALL", Short: "cancel a call", Args: exactArg("a call; rota function list shows them"),
		Example: "  rota function cancel cli-5f0c19aa/5f0c19aa-000001/000",
	}
	return c.attached(e, cmd, c.cancel)
}

// attached makes a command that does something with a call that was submitted before.
func (c *caller) attached(e env, cmd *cobra.Command, do func(context.Context, *call.Handle) error) *cobra.Command {
	return changer(e, cmd, func(ctx context.Context, o *observer, args []string) error {
		c.observer = o
		return c.withClient(func(client *call.Client) error {
			h, err := client.Attach(args[0])
			if err != nil {
				return misused("the ID that rota function call --detach has printed", "%w", err)
			}
			return do(ctx, h)
		})
	})
}

func (c *caller) withClient(do func(client *call.Client) error) error {
	client, err := call.NewClient(c.store, call.ClientOptions{Queue: c.as})
	if err != nil {
		return misused("--as importer", "%w", err)
	}
	defer client.Close()
	return do(client)
}

func (c *caller) submit(ctx context.Context, client *call.Client, name string) (*call.Handle, error) {
	if err := c.refresh(ctx); err != nil {
		return nil, err
	}
	if err := c.offered(name); err != nil {
		return nil, err
	}
	h, err := client.Submit(ctx, name, []byte(c.arg), c.options)
	if err != nil {
		return nil, failed("rota function call --help", "%w", err)
	}
	return h, nil
}

// offered reports whether a member has the function.
func (c *caller) offered(name string) error {
	var all []string
	for m := range c.value.Members() {
		if m.State == cluster.MemberJoined {
			all = append(all, call.Offered(m)...)
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	switch {
	case slices.Contains(all, name):
		return nil
	case c.detach:
		c.say("! no member has the function %s now: the call waits for one that has", name)
		return nil
	case len(all) == 0:
		return failed("rota run --slots 4 for a member that has ping, or --detach to leave the call for later",
			"no member has the function %s: none has any", name)
	}
	return failed("one of these, or --detach to leave the call for later",
		"no member has the function %s; members have: %s", name, strings.Join(all, ", "))
}

func (c *caller) tellSubmitted(h *call.Handle) error {
	if c.json {
		return c.printJSON(Called{Call: h.ID(), State: "submitted"})
	}
	c.say("submitted · its result: %s", c.waiting(h))
	_, err := fmt.Fprintln(c.stdout, h.ID())
	return err
}

func (c *caller) cancel(ctx context.Context, h *call.Handle) error {
	if err := h.Cancel(ctx); err != nil {
		return err
	}
	if c.json {
		return c.printJSON(Called{Call: h.ID(), State: "cancelling"})
	}
	c.say("call %s does not begin any more, and stops if it runs · how it ends: %s", h.ID(), c.waiting(h))
	return nil
}

// waiting is the command that waits for a call.
func (c *caller) waiting(h *call.Handle) string {
	return fmt.Sprintf("rota function wait %s --store %s", h.ID(), storeWord(c.url))
}

// sayAfter is how long a person waits before he is told for what.
const sayAfter = 2 * time.Second

func (c *caller) await(ctx context.Context, h *call.Handle) error {
	if c.patience > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, c.patience)
		defer stop()
	}
	hint := time.AfterFunc(sayAfter,
		func() { c.say("waiting for call %s · should this end: %s", h.ID(), c.waiting(h)) })
	result, err := h.Wait(ctx)
	hint.Stop()
	if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		return failed(c.waiting(h)+", or rota function cancel", "call %s has not ended within %s, and goes on", h.ID(),
			c.patience)
	}
	if c.json {
		return c.printOutcome(h, result, err)
	}
	var e *call.Error
	switch {
	case errors.As(err, &e):
		return failed("rota events --store "+storeWord(c.url)+" shows each attempt", "%w", err)
	case err != nil:
		return err
	}
	_, err = fmt.Fprintf(c.stdout, "%s\n", result)
	return err
}

// printOutcome prints how the call ended; one without a result makes the command fail.
func (c *caller) printOutcome(h *call.Handle, result json.RawMessage, err error) error {
	out := Called{Call: h.ID(), State: string(call.Done), Result: result}
	var e *call.Error
	switch {
	case errors.As(err, &e):
		out.State, out.Attempts, out.Member = string(call.Failed), e.Attempts, string(e.Member)
	case errors.Is(err, call.ErrCancelled):
		out.State = string(call.Cancelled)
	case err != nil:
		out.State = "unknown"
	}
	if err == nil {
		return c.printJSON(out)
	}
	out.Error = err.Error()
	return errors.Join(c.printJSON(out), errSilent)
}

func newCallList(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "list calls of functions: what waits, runs, or has an outcome that nobody has collected",
		Example: "  rota function list --state running",
	}
	state := cmd.Flags().String("state", "", "only those that are "+strings.Join(view.CallStates(), ", "))
	cmd.Flags().Bool("all", false, "all calls")
	return watcher(e, cmd, func(ctx context.Context, o *observer, _ []string) error {
		if err := checkState(*state, view.CallStates()); err != nil {
			return err
		}
		shown, unreadable, err := view.Calls(ctx, o.store, *state)
		if err != nil {
			return fmt.Errorf("store %s: %w", o.name, err)
		}
		if unreadable > 0 {
			o.say("! %s cannot be read", many(unreadable, "call"))
		}
		return show(o, shown, o.printCalls)
	})
}

func (o *observer) printCalls(calls []view.Call) error {
	if len(calls) == 0 {
		o.say("no calls")
		return nil
	}
	return o.list([]string{"CALL", "FUNCTION", "STATE", "ATTEMPT", "MEMBER", "ERROR"}, len(calls),
		func(i int) []string {
			c, member := &calls[i], "-"
			if c.Runner != nil {
				member = string(c.Runner.Member)
			}
			return []string{c.ID, c.Function, string(c.State), strconv.FormatInt(c.Attempt, 10), member,
				firstLine(c.Error)}
		})
}
