package command

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/api"
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/storeurl"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// observer is a client of the store that only looks: no member is needed.
type observer struct {
	env
	name    string // of the store, without secrets
	once    bool   // the garbage collector's target is that of one look
	named   bool   // on the command line, so that hints must name it too
	store   store.Full
	proto   protocol.Protocol // of the place
	lookout *api.Lookout
	value   cluster.Value
	json    bool
	now     time.Time
	away    bool // the store did not answer when it was asked last
	shown   int  // most problems that status shows
}

// answerWithin bounds how long a command waits for the store.
const answerWithin = 30 * time.Second

// watcher makes a command that reads the store and shows something of it.
func watcher(e env, cmd *cobra.Command, show func(ctx context.Context, o *observer, args []string) error) *cobra.Command {
	flags := cmd.Flags()
	flags.String("store", "", "where the members meet: "+storeForms)
	flags.String("config", "", "file of settings; default rota.yaml where there is one")
	flags.Bool("json", false, "print JSON, the same as the HTTP API")
	if cmd.Args == nil {
		cmd.Args = noArgs
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		named := cmd.Flags().Changed("store")
		if _, err := settleStore(e, cmd); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), answerWithin)
		defer cancel()
		o, err := observe(ctx, e, cmd)
		if err != nil {
			return err
		}
		defer o.store.Close()
		o.named = named
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

func observe(ctx context.Context, e env, cmd *cobra.Command) (*observer, error) {
	name, _ := cmd.Flags().GetString("store")
	asJSON, _ := cmd.Flags().GetBool("json")
	st, err := openStore(ctx, e, name, look)
	if err != nil {
		return nil, err
	}
	o := &observer{env: e, once: e.lookOnce(), name: storeurl.Hide(name), store: st, lookout: api.NewLookout(st, protocol.Now), json: asJSON, now: time.Now()}
	if err := o.refresh(ctx); err != nil {
		st.Close()
		return nil, err
	}
	return o, nil
}

func (o *observer) journal(ctx context.Context, q journal.Query) ([]journal.Record, error) {
	return journal.NewDocs(o.store, "observer", 0).Read(ctx, q)
}
