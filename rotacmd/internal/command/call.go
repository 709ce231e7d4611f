package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"github.com/rota-run/rota/internal/plain"
	"github.com/rota-run/rota/store"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/call"
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/rotacmd/internal/storeurl"
)

const callHelp = `Calls a function that members have, with an argument as JSON, and prints its result.

  rota call ping --store file:./rota-data
  rota call resize --arg '{"file": "a.png", "width": 80}' --detach
  rota call --attach cli-5f0c19aa/5f0c19aa-000001/000

The call is kept in the store: it goes on when this command ends, also when the member that runs it dies. This binary's members have ping, if they have slots
(rota run --slots 4); a program that embeds Rota brings its own functions (docs/guide/functions.md).`

// caller is one rota call.
type caller struct {
	env
	name, arg, attach, cancel string
	attempts                  int
	timeout, patience         time.Duration
	detach, json              bool
	key, as                   string
	delay                     time.Duration
	store                     string // without secrets
}

// Called is what rota call prints as JSON.
type Called struct {
	Call     string          `json:"call"`
	State    string          `json:"state"` // submitted, done, failed, cancelled or cancelling
	Result   json.RawMessage `json:"result,omitempty"`
	Error    string          `json:"error,omitempty"`
	Attempts int64           `json:"attempts,omitempty"`
	Member   string          `json:"member,omitempty"`
}

func newCall(e env) *cobra.Command {
	c := &caller{env: e}
	cmd := &cobra.Command{Use: "call [FUNCTION]", Short: "call a function that members have", Long: callHelp, Args: cobra.ArbitraryArgs}
	flags := cmd.Flags()
	flags.String("store", "", "where the members meet: "+storeForms)
	flags.String("config", "", "file of settings; default rota.yaml where there is one")
	flags.BoolVar(&c.json, "json", false, "print JSON: the call, its state, its result or error")
	flags.StringVar(&c.arg, "arg", "null", "argument of the function, as JSON")
	flags.BoolVar(&c.detach, "detach", false, "do not wait for the result; also where no member has the function yet")
	flags.DurationVar(&c.patience, "wait", 0, "how long to wait for the result; 0: until it is there")
	flags.IntVar(&c.attempts, "attempts", 0, "most runs; 0: the default, 5")
	flags.StringVar(&c.key, "key", "", "a name for the call: submitted again, by a command with the same --as, it is the same call")
	flags.StringVar(&c.as, "as", "", "who calls: members share their slots fairly among callers; default: a name by chance, with --key: rota-call")
	flags.DurationVar(&c.delay, "delay", 0, "let it wait so long before it runs")
	flags.DurationVar(&c.timeout, "timeout", 0, "of one run; 0: none")
	flags.StringVar(&c.attach, "attach", "", "wait for a call that was submitted before, by its ID")
	flags.StringVar(&c.cancel, "cancel", "", "cancel a call, by its ID")
	asked(flags, "arg", "detach", "wait", "key", "as", "delay", "attempts", "timeout", "attach", "cancel")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		store, err := settleStore(e, cmd)
		if err != nil {
			return err
		}
		if err := c.read(cmd, args); err != nil {
			return err
		}
		return c.run(cmd.Context(), store)
	}
	return cmd
}

// read checks what was asked for.
func (c *caller) read(cmd *cobra.Command, args []string) error {
	wanted := len(args)
	for _, id := range []string{c.attach, c.cancel} {
		if id != "" {
			wanted++
		}
	}
	switch {
	case wanted != 1:
		return misused(cmd.CommandPath()+" --help", "%s takes one function, or --attach ID, or --cancel ID", cmd.CommandPath())
	case len(args) == 1 && !json.Valid([]byte(c.arg)):
		return misused(`--arg '{"text": "hello"}', or --arg '"text"' for a text alone`, "arg %q is not JSON", c.arg)
	case len(args) == 1:
		c.name = args[0]
		if c.key != "" && c.as == "" {
			c.as = "rota-call"
		}
	}
	return nil
}

func (c *caller) run(ctx context.Context, store string) error {
	limited, stop := context.WithTimeout(ctx, answerWithin)
	defer stop()
	st, err := openStore(limited, c.env, store, change)
	if err != nil {
		return err
	}
	defer st.Close()
	c.store = storeurl.Hide(store)
	client, err := call.NewClient(st, call.ClientOptions{Queue: c.as})
	if err != nil {
		return misused("--as importer", "%w", err)
	}
	defer client.Close()
	h, err := c.handle(limited, st, client)
	if err != nil {
		return err
	}
	switch {
	case c.cancel != "":
		return c.doCancel(limited, h)
	case c.detach:
		return c.tellSubmitted(h)
	}
	return c.await(ctx, h)
}

// handle submits the call, or finds the one that is meant.
func (c *caller) handle(ctx context.Context, st store.Full, client *call.Client) (*call.Handle, error) {
	if c.name == "" {
		h, err := client.Attach(c.attach + c.cancel)
		if err != nil {
			return nil, misused("the ID that rota call --detach has printed", "%w", err)
		}
		return h, nil
	}
	o := &observer{env: c.env, name: c.store, store: st}
	if err := o.refresh(ctx); err != nil {
		return nil, err
	}
	if err := c.offered(o.value); err != nil {
		return nil, err
	}
	h, err := client.Submit(ctx, c.name, []byte(c.arg), call.Options{Attempts: c.attempts, Timeout: c.timeout, Key: c.key, Delay: c.delay})
	if err != nil {
		return nil, failed("rota call --help", "%w", err)
	}
	return h, nil
}

// offered reports whether a member has the function.
func (c *caller) offered(v cluster.Value) error {
	var all []string
	for m := range v.Members() {
		if m.State == cluster.MemberJoined {
			all = append(all, call.Offered(m)...)
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	switch {
	case slices.Contains(all, c.name):
		return nil
	case c.detach:
		c.say("! no member has the function %s now: the call waits for one that has", c.name)
		return nil
	case len(all) == 0:
		return failed("rota run --slots 4 for a member that has ping, or --detach to leave the call for later", "no member has the function %s: none has any", c.name)
	}
	return failed("one of these, or --detach to leave the call for later", "no member has the function %s; members have: %s", c.name, strings.Join(all, ", "))
}

func (c *caller) tellSubmitted(h *call.Handle) error {
	if c.json {
		return c.printJSON(Called{Call: h.ID(), State: "submitted"})
	}
	c.say("submitted · its result: rota call --attach %s --store %s", h.ID(), plain.Word(c.store))
	_, err := fmt.Fprintln(c.stdout, h.ID())
	return err
}

func (c *caller) doCancel(ctx context.Context, h *call.Handle) error {
	if err := h.Cancel(ctx); err != nil {
		return err
	}
	if c.json {
		return c.printJSON(Called{Call: h.ID(), State: "cancelling"})
	}
	c.say("call %s does not begin any more, and stops if it runs · how it ends: rota call --attach %s --store %s", h.ID(), h.ID(), plain.Word(c.store))
	return nil
}

// sayAfter is how long a person waits before he is told for what.
const sayAfter = 2 * time.Second

func (c *caller) await(ctx context.Context, h *call.Handle) error {
	if c.patience > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, c.patience)
		defer stop()
	}
	again := fmt.Sprintf("rota call --attach %s --store %s", h.ID(), plain.Word(c.store))
	hint := time.AfterFunc(sayAfter, func() { c.say("waiting for call %s · should this end: %s", h.ID(), again) })
	result, err := h.Wait(ctx)
	hint.Stop()
	if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		return failed(again+", or --cancel", "call %s has not ended within %s, and goes on", h.ID(), c.patience)
	}
	if c.json {
		return c.printOutcome(h, result, err)
	}
	var e *call.Error
	switch {
	case errors.As(err, &e):
		return failed("rota journal --store "+plain.Word(c.store)+" shows each attempt", "%w", err)
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
