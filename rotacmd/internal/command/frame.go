package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/plain"
	"github.com/rota-run/rota/internal/view"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/rotacmd/internal/storeurl"
	"github.com/rota-run/rota/rotacmd/stores"
	"github.com/rota-run/rota/store"
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
	storeFlags(cmd.Flags())
	asJSON := formatFlag(cmd.Flags())
	if cmd.Args == nil {
		cmd.Args = noArgs
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		named := cmd.Flags().Changed("store")
		url, err := settleStore(e, cmd)
		if err != nil {
			return err
		}
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

func storeFlags(flags *pflag.FlagSet) {
	flags.String("store", "", "the store that the members share: "+storeForms)
	configFlag(flags)
}

func configFlag(flags *pflag.FlagSet) {
	flags.String("config", "", "file of settings; default rota.yaml where there is one")
}

// settleStore finds out which store is meant.
func settleStore(e env, cmd *cobra.Command) (string, error) {
	if _, err := settle(e, cmd); err != nil {
		return "", err
	}
	return cmd.Flags().GetString("store")
}

// open opens the store.
func (o *observer) open(ctx context.Context, a stores.Access) (err error) {
	if o.store, err = openStore(ctx, o.env, o.url, a); err != nil {
		return err
	}
	o.viewer = view.Viewer{Lookout: view.NewLookout(o.store, protocol.Now), Journal: journal.NewDocs(o.store, "observer", 0), Store: o.name}
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
		words = append(words, plain.Word(a))
	}
	o.cmd.Flags().Visit(func(f *pflag.Flag) {
		switch list, many := f.Value.(pflag.SliceValue); {
		case f.Name == "store" || f.Name == "output" || strings.HasPrefix(flag, "--"+f.Name):
		case f.Value.Type() == "bool":
			words = append(words, "--"+f.Name)
		case many:
			words = append(words, "--"+f.Name, plain.Word(strings.Join(list.GetSlice(), ",")))
		default:
			words = append(words, "--"+f.Name, plain.Word(f.Value.String()))
		}
	})
	return o.hint(strings.Join(append(words, flag), " "))
}

// hint completes a command of ours so that it can be copied: with the store, where the user named that on the command line.
func (o *observer) hint(command string) string {
	if o.named && !strings.Contains(command, "--store") {
		command += " --store " + plain.Word(o.name)
	}
	return o.own.renamed(command)
}
