package command

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/rotacmd/internal/storeurl"
	"github.com/rota-run/rota/rotacmd/stores"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/view"
)

// observer is a client of the store that only looks: no member is needed.
type observer struct {
	env
	url    string // of the store
	name   string // the same without secrets
	dir    string // of a store that is one; "" for others
	once   bool   // the garbage collector's target is that of one look
	named  bool   // on the command line, so that hints must name it too
	store  store.Full
	proto  protocol.Protocol // of the place
	viewer view.Viewer
	value  cluster.Value
	json   bool
	now    time.Time
	away   bool // the store did not answer when it was asked last
	shown  int  // most problems that status shows
}

// answerWithin bounds how long a command waits for the store.
const answerWithin = 30 * time.Second

// watcher makes a command that reads the store and shows something of it.
func watcher(e env, cmd *cobra.Command, show func(ctx context.Context, o *observer, args []string) error) *cobra.Command {
	return shortcutter(e, cmd, nil, show)
}

// shortcutter is watcher with a way that needs no store, if near says that it has shown all.
func shortcutter(e env, cmd *cobra.Command, near func(ctx context.Context, o *observer) (bool, error), show func(ctx context.Context, o *observer, args []string) error) *cobra.Command {
	flags := cmd.Flags()
	flags.String("store", "", "where the members meet: "+storeForms)
	flags.String("config", "", "file of settings; default rota.yaml where there is one")
	flags.Bool("json", false, "print JSON, the same as the HTTP API")
	if cmd.Args == nil {
		cmd.Args = noArgs
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o, err := newObserver(e, cmd)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), answerWithin)
		defer cancel()
		if near != nil {
			if done, err := near(ctx, o); done || err != nil {
				return err
			}
		}
		if err := o.open(ctx); err != nil {
			return err
		}
		defer o.store.Close()
		return show(ctx, o, args)
	}
	return cmd
}

// settleStore finds out which store is meant.
func settleStore(e env, cmd *cobra.Command) (string, error) {
	if _, err := settle(e, cmd); err != nil {
		return "", err
	}
	return cmd.Flags().GetString("store")
}

// newObserver has no store yet.
func newObserver(e env, cmd *cobra.Command) (*observer, error) {
	named := cmd.Flags().Changed("store")
	url, err := settleStore(e, cmd)
	if err != nil {
		return nil, err
	}
	asJSON, _ := cmd.Flags().GetBool("json")
	dir, _ := stores.Directory(url) // opening it says what is wrong
	return &observer{env: e, url: url, dir: dir, name: storeurl.Hide(url), named: named, json: asJSON, now: time.Now()}, nil
}

// open opens the store and reads it.
func (o *observer) open(ctx context.Context) (err error) {
	if o.store, err = openStore(ctx, o.env, o.url, look); err != nil {
		return err
	}
	o.once, o.now = o.lookOnce(), time.Now()
	o.viewer = view.Viewer{Lookout: view.NewLookout(o.store, protocol.Now), Journal: journal.NewDocs(o.store, "observer", 0), Store: o.name}
	o.viewer.Queue, _ = o.store.(store.Queue)
	if err := o.refresh(ctx); err != nil {
		o.store.Close()
		return err
	}
	return nil
}

func (o *observer) journal(ctx context.Context, q journal.Query) ([]journal.Record, error) {
	return journal.NewDocs(o.store, "observer", 0).Read(ctx, q)
}
