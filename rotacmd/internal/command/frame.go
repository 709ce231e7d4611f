package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/operate"
	"github.com/rota-run/rota/internal/safetext"
	"github.com/rota-run/rota/internal/view"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/rotacmd/internal/storeurl"
	"github.com/rota-run/rota/rotacmd/stores"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/work"
)

// answerWithin bounds how long a command waits for the store.
const answerWithin = 30 * time.Second

// observer is a client of the store, for one command: no member is needed.
type observer struct {
	env
	cmd    *cobra.Command
	args   []string
	url    string // of the store
	name   string // the same without secrets
	dir    string // of a store that is one; "" for others
	once   bool   // the garbage collector's target is that of one look
	named  bool   // on the command line, so that hints must name it too
	store  store.Full
	broker io.Closer         // the queue, if it is not the store
	proto  protocol.Protocol // of the place
	viewer view.Viewer
	value  cluster.Value
	json   bool
	all    bool // all rows are printed
	now    time.Time
	away   bool // the store did not answer when it was asked last
}

// run is what a command does. Its ctx ends when the store took too long; that of the command is o.cmd.Context.
type run func(ctx context.Context, o *observer, args []string) error

// framed gives a command the flags of a store and of the output. What it does opens the store itself.
func framed(e env, cmd *cobra.Command, do run) *cobra.Command {
	cmd.Flags().String("store", "", "the store that the members share: "+storeForms)
	configFlag(cmd.Flags())
	asJSON := formatFlag(cmd.Flags())
	if cmd.Args == nil {
		cmd.Args = noArgs
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		named := cmd.Flags().Changed("store")
		if _, err := settle(e, cmd); err != nil {
			return err
		}
		url := valueOf(cmd.Flags().GetString("store"))
		dir, _ := stores.Directory(url) // opening it says what is wrong
		o := &observer{
			env: e, cmd: cmd, args: args, url: url, dir: dir, name: storeurl.Hide(url), named: named,
			json: bool(*asJSON), now: time.Now(),
		}
		o.all, _ = cmd.Flags().GetBool("all") // false where there is no such flag
		defer o.close()
		ctx, cancel := context.WithTimeout(cmd.Context(), answerWithin)
		defer cancel()
		return do(ctx, o, args)
	}
	return cmd
}

// watcher makes a command that reads the store and shows something of it.
func watcher(e env, cmd *cobra.Command, show run) *cobra.Command {
	return framed(e, cmd, func(ctx context.Context, o *observer, args []string) error {
		if err := o.look(ctx); err != nil {
			return err
		}
		return show(ctx, o, args)
	})
}

// changer makes a command that writes to the store.
func changer(e env, cmd *cobra.Command, do run) *cobra.Command {
	return framed(e, cmd, func(ctx context.Context, o *observer, args []string) error {
		if err := o.open(ctx, change); err != nil {
			return err
		}
		return do(ctx, o, args)
	})
}

func configFlag(flags *pflag.FlagSet) {
	flags.String("config", "", "file of settings; default rota.yaml where there is one")
}

// open opens the store.
func (o *observer) open(ctx context.Context, a stores.Access) (err error) {
	if o.store, err = openStore(ctx, o.env, o.url, a); err != nil {
		return err
	}
	o.viewer = view.Viewer{Lookout: view.NewLookout(o.store, protocol.Now),
		Journal: journal.NewDocs(o.store, "observer", 0), Store: o.name}
	return o.findQueue(ctx, a)
}

// look opens the store and reads it.
func (o *observer) look(ctx context.Context) error {
	if err := o.open(ctx, look); err != nil {
		return err
	}
	o.once = o.lookOnce()
	return o.refresh(ctx)
}

func (o *observer) close() {
	if o.broker != nil {
		o.broker.Close()
	}
	if o.store != nil {
		o.store.Close()
	}
}

func (o *observer) journal(ctx context.Context, q journal.Query) ([]journal.Record, error) {
	return journal.NewDocs(o.store, "observer", 0).Read(ctx, q)
}

// format is what -o says: whether the output is JSON.
type format bool

func formatFlag(flags *pflag.FlagSet) *format {
	f := new(format)
	flags.VarP(f, "output", "o", "text for people, or json: the same as the HTTP API")
	return f
}

func (f *format) String() string {
	if *f {
		return "json"
	}
	return "text"
}

// Type names the values in the help.
func (f *format) Type() string { return "text|json" }

// Set reads a value.
func (f *format) Set(text string) error {
	if *f = text == "json"; !*f && text != "text" {
		return errors.New("it is text or json")
	}
	return nil
}

// show prints a value as JSON, or for people.
func show[T any](o *observer, value T, write func(T) error) error {
	if o.json {
		return o.printJSON(value)
	}
	return write(value)
}

// rowsShown is how many rows are printed without --all.
const rowsShown = 50

// fits is how many of n rows are printed.
func (o *observer) fits(n, most int) int {
	if o.all {
		return n
	}
	return min(n, most)
}

// list prints rows, as many as fit, and says how many it leaves out.
func (o *observer) list(header []string, n int, row func(i int) []string) error {
	shown := o.fits(n, rowsShown)
	rows := make([][]string, 0, shown+1)
	rows = append(rows, header)
	for i := range shown {
		rows = append(rows, row(i))
	}
	if err := table(o.stdout, rows); err != nil {
		return err
	}
	o.more(n-shown, "")
	return nil
}

// more says how many things were left out, and what shows them.
func (o *observer) more(left int, what string) {
	if left > 0 {
		fmt.Fprintf(o.stdout, "and %s more%s: %s\n", grouped(left), what, o.again("--all"))
	}
}

// again is this command once more, with another flag.
func (o *observer) again(flag string) string {
	words := []string{o.cmd.CommandPath()}
	for _, a := range o.args {
		words = append(words, safetext.Word(a))
	}
	o.cmd.Flags().Visit(func(f *pflag.Flag) {
		switch list, many := f.Value.(pflag.SliceValue); {
		case f.Name == "store" || f.Name == "output" || strings.HasPrefix(flag, "--"+f.Name):
		case f.Value.Type() == "bool":
			words = append(words, "--"+f.Name)
		case many:
			words = append(words, "--"+f.Name, safetext.Word(strings.Join(list.GetSlice(), ",")))
		default:
			words = append(words, "--"+f.Name, safetext.Word(f.Value.String()))
		}
	})
	return o.hint(strings.Join(append(words, flag), " "))
}

// hint completes a command of ours so that it can be copied: with the store, where the user named that on the command
// line.
func (o *observer) hint(command string) string {
	if o.named && !strings.Contains(command, "--store") {
		command += " --store " + storeWord(o.url)
	}
	return o.own.renamed(command)
}

// Proposed is what a command that changes the cluster prints as JSON.
type Proposed struct {
	Said     string `json:"said"`
	Accepted bool   `json:"accepted"`
}

// asking is one thing that is asked of a cluster for what has a name.
type asking[Name ~string] struct {
	list string // the command that shows the names
	do   func(*operate.Operator, context.Context, Name) (operate.Answer, error)
	done string                                                      // what is said, with the name and the store
	then func(ctx context.Context, o *observer, args []string) error // after that; nil for nothing
}

// proposer makes a command that asks one thing of the cluster.
func proposer[Name ~string](e env, cmd *cobra.Command, a asking[Name]) *cobra.Command {
	cmd.Args = exactArg("a name; rota " + a.list + " shows them")
	return changer(e, cmd, func(ctx context.Context, o *observer, args []string) error {
		try := "rota " + a.list + " --store " + storeWord(o.url)
		answer, err := o.operate(ctx, try,
			func(op *operate.Operator) (operate.Answer, error) { return a.do(op, ctx, Name(args[0])) })
		if err != nil {
			return err
		}
		if o.json {
			err = o.printJSON(Proposed{answer.Said, true})
		} else {
			o.say(a.done, args[0], storeWord(o.url))
		}
		if err != nil || a.then == nil {
			return err
		}
		return a.then(ctx, o, args)
	})
}

// operate asks something of the cluster. What is refused has this way out, unless it has one of its own.
func (o *observer) operate(
	ctx context.Context, try string, do func(op *operate.Operator) (operate.Answer, error),
) (operate.Answer, error) {
	op, err := o.operatorOn(ctx, o.store, o.viewer.Queue, "", nil)
	if err != nil {
		return operate.Answer{}, fmt.Errorf("store %s: %w", o.name, err)
	}
	a, err := do(op)
	if err != nil {
		return a, o.refusal(err, try)
	}
	o.journaled(a)
	return a, nil
}

// operatorOn is what asks the cluster of an open store, by the protocol that is asked for.
func (e env) operatorOn(ctx context.Context, st store.Full, queue store.Queue, asked string,
	types work.Types) (*operate.Operator, error) {
	p, err := protocolFor(ctx, asked, st)
	if err != nil {
		return nil, err
	}
	by := asker(e)
	return operate.New(operate.Outside(p, st, by), st, queue, types, by), nil
}

// refusal gives an answer of the cluster the form of a command's error.
func (o *observer) refusal(err error, try string) error {
	var invalid *operate.InvalidError
	var r *operate.RefusedError
	switch {
	case errors.As(err, &invalid):
		return misused(try, "%w", err)
	case errors.As(err, &r):
		return failed(o.try(cmp.Or(r.Try, try)), "%s: %s", r.Said, cmp.Or(r.Reason, r.Kind.Error()))
	}
	return fmt.Errorf("store %s: %w", o.name, otherProtocol(err))
}

// journaled tells the user what the journal does not have.
func (e env) journaled(a operate.Answer) {
	if a.Unjournaled != nil {
		e.say("it is done, and not in the journal: %v", a.Unjournaled)
	}
	if a.Unheard != nil {
		e.say("it is done; tasks of the flow that have had nothing to do see it within 20 s: %v", a.Unheard)
	}
}

// asker is who runs this command, as user@host.
func asker(e env) string {
	name := cmp.Or(e.getenv("SUDO_USER"), e.getenv("USER"), e.getenv("LOGNAME"), fmt.Sprint("uid-", os.Getuid()))
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return name + "@" + host
}
