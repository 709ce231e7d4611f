package command

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rota-run/rota/internal/node"
	"github.com/rota-run/rota/internal/wait"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/rotacmd/internal/command/storecheck"
	"github.com/rota-run/rota/rotacmd/internal/storeurl"
	"github.com/rota-run/rota/rotacmd/stores"
	"github.com/rota-run/rota/store"
)

// storeForms is what a store may be, for help.
const storeForms = "file:DIR, elastic://…, etcd://…, kafka://…, nats://…, zookeeper://… or postgres://HOST:PORT,…/PATH"

func newStore(e env) *cobra.Command {
	return group("store", "check a store, repair it, copy it", newStoreCheck(e), newStoreRepair(e), newStoreCopy(e))
}

const storeCheckHelp = `Verify that a store can be used, and measure how long its answers take: append, read, snapshot, conditional write, list, watch, session.
It works at a place of its own beside that of the cluster, PATH-store-check, which it leaves nearly empty; a running cluster is not touched.
Exit 0 only if all that members need works.`

// checkSuffix names the place of a check.
const checkSuffix = "-store-check"

func newStoreCheck(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "check [STORE]", Short: "verify that a store can be used", Long: storeCheckHelp,
		Example: "  rota store check file:./rota-data\n  rota store check etcd://127.0.0.1:2379/rota",
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return misused("rota store check file:./rota-data", "%s takes one store", cmd.CommandPath())
		}
		return nil
	}
	return framed(e, cmd, func(ctx context.Context, o *observer, args []string) error {
		if len(args) == 1 {
			o.url = args[0]
		}
		r, err := checkStore(ctx, e, o.url)
		if err != nil {
			return err
		}
		return e.showCheck(storeurl.Hide(o.url), r, o.json)
	})
}

func checkStore(ctx context.Context, e env, text string) (storecheck.Report, error) {
	if strings.HasPrefix(text, "memory:") {
		return storecheck.Report{}, misused("rota store check file:./rota-data",
			"store memory: is inside one process: there is nothing to check")
	}
	if strings.HasPrefix(text, "file:") {
		dir, err := storeDirectory(text)
		if err != nil {
			return storecheck.Report{}, err
		}
		return checkDirectory(ctx, e, dir)
	}
	st, err := stores.Open(ctx, text, e.storeOptions("", look))
	if err == nil {
		err = st.Close()
	}
	// What is at the place may be closed to this user, or of somebody else, and then a check beside it says nothing.
	if _, refused := errors.AsType[*stores.OpenError](err); refused && !errors.Is(err, store.ErrNotFound) {
		return storecheck.Report{}, storeFault(text, checkSuffix, look, err)
	}
	return checkPlace(ctx, e, text, checkSuffix)
}

// storeDirectory is the directory of a store file:DIR.
func storeDirectory(text string) (string, error) {
	dir, err := stores.Directory(text)
	if err != nil {
		return "", storeFault(text, "", member, err)
	}
	return dir, nil
}

// checkDirectory checks the disk below which a directory lies, in a directory that it removes.
func checkDirectory(ctx context.Context, e env, dir string) (storecheck.Report, error) {
	if err := notAFile(dir); err != nil {
		return storecheck.Report{}, err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), filepath.Base(dir)+checkSuffix+"-")
	if err != nil {
		try := "a directory that this user can write"
		if errors.Is(err, fs.ErrNotExist) {
			try = "mkdir -p " + filepath.Dir(dir)
		}
		return storecheck.Report{}, failed(try, "make a directory for the check: %w", err)
	}
	r, err := checkPlace(ctx, e, "file:"+tmp, "")
	return r, errors.Join(err, os.RemoveAll(tmp))
}

// notAFile refuses a path that is there and is no directory.
func notAFile(path string) error {
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return failed("a directory, or a path where there is nothing yet",
			"store file:%s: it is a file, and a store is a directory", path)
	}
	return nil
}

func checkPlace(ctx context.Context, e env, text, suffix string) (storecheck.Report, error) {
	st, err := openBeside(ctx, e, text, suffix, member)
	if err != nil {
		return storecheck.Report{}, err
	}
	r := storecheck.Run(ctx, st)
	return r, st.Close()
}

func (e env) showCheck(name string, r storecheck.Report, asJSON bool) error {
	if asJSON {
		if err := e.printJSON(r); err != nil {
			return err
		}
	} else if err := table(e.stdout, checkRows(r)); err != nil {
		return err
	}
	if !r.OK {
		return failed("the table says which step", "store %s can't be used", name)
	}
	return nil
}

func checkRows(r storecheck.Report) [][]string {
	rows := [][]string{{"", "STEP", "TYPICAL", "WORST", ""}}
	for _, s := range r.Steps {
		mark := "ok"
		switch {
		case s.Optional:
			mark = "-"
		case !s.OK:
			mark = "FAILED"
		}
		row := []string{mark, s.Name, "", "", s.Note + s.Error}
		if s.Times > 0 {
			row[2], row[3] = fmt.Sprintf("%.2f ms", s.TypicalMS), fmt.Sprintf("%.2f ms", s.WorstMS)
		}
		rows = append(rows, row)
	}
	return rows
}

// openPause is between two attempts to open a store that is away.
const openPause = time.Second

// errStopped ends a member that was told to stop before its store answered.
var errStopped = errors.New("told to stop before the store answered")

// keepIn makes the member keep on disk what it must run without a store.
func (c *config) keepIn(dir string) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return failed("another --state-dir", "%w", err)
	}
	sum := sha256.Sum256([]byte(storeurl.Hide(c.store)))
	var err error
	c.node.Kept, err = node.OpenKept(filepath.Join(dir, string(c.node.Member)+"-"+hex.EncodeToString(sum[:4])+".json"),
		c.node.Member)
	return err
}

// openMember opens the store. A member that keeps what it runs waits for a store that is away, and runs that meanwhile.
func (c *config) openMember(ctx context.Context) (store.Full, error) {
	st, err := openStore(ctx, c.env, c.store, member)
	var f *fault
	if err == nil || c.node.Kept == nil || errors.As(err, &f) && f.usage {
		return st, err
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	end, err2 := c.keep(ctx)
	if err2 != nil {
		return nil, err2
	}
	said := ""
	for {
		if text := firstLine(err.Error()); text != said {
			said = text
			c.say("waits for the store: %s · %s with on_store_loss: keep meanwhile", text,
				many(c.node.Kept.Tasks(), "task"))
		}
		if !wait.For(ctx, openPause) {
			return nil, errors.Join(end(), errStopped)
		}
		if st, err = openStore(ctx, c.env, c.store, member); err == nil {
			return st, end() // before it takes part: what it kept is not what it is assigned
		}
	}
}

// keep runs what the member keeps until the function that it returns is called.
func (c *config) keep(ctx context.Context) (end func() error, err error) {
	config := c.node
	config.Publisher, _, err = c.openPublishers(c.publish)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	published, ran := make(chan error, 1), make(chan error, 1)
	tail, flush := context.WithCancel(context.WithoutCancel(ctx))
	if config.Publisher == nil {
		published <- nil
	} else {
		go func() { published <- config.Publisher.Run(tail) }()
	}
	go func() { ran <- c.node.Kept.Run(ctx, config) }()
	return func() error {
		cancel()
		err := <-ran
		flush()
		return errors.Join(err, <-published)
	}, nil
}

func queueFlag(flags *pflag.FlagSet) {
	flags.String("queue", "",
		"the queue that has the segments of flows, if it is not the store: a URL like that of a store; the same for all members")
}

// openQueue opens the queue at a URL. Without one the broker is the zero value: the store's own.
func (e env) openQueue(ctx context.Context, url string, a stores.Access) (b store.Broker, c io.Closer, err error) {
	if url == "" {
		return b, io.NopCloser(nil), nil
	}
	st, err := openStore(ctx, e, url, a)
	if f, ok := errors.AsType[*fault](err); ok {
		f.try = strings.ReplaceAll(f.try, "--store", "--queue")
	}
	if err != nil {
		return b, nil, fmt.Errorf("queue %s: %w", storeurl.Hide(url), err)
	}
	q, ok := st.(store.Queue)
	if !ok {
		return b, nil, errors.Join(failed("a store that has queues: docs/guide/flows.md", "queue %s: it has none",
			storeurl.Hide(url)), st.Close())
	}
	return store.Broker{Queue: q, Place: placeOf(url)}, st, nil
}

// findQueue opens the queue of the cluster for a command. Where it is queueElsewhere, each of its calls says so.
func (o *observer) findQueue(ctx context.Context, a stores.Access) error {
	flag := o.cmd.Flags().Lookup("queue")
	if flag == nil {
		return nil
	}
	b, c, err := o.openQueue(ctx, flag.Value.String(), a)
	if err != nil {
		return err
	}
	o.broker = c
	if b.Queue == nil {
		b.Place = protocol.OwnQueue
		b.Queue, _ = o.store.(store.Queue)
	}
	at, err := protocol.At(ctx, o.store)
	if err != nil {
		return fmt.Errorf("store %s: %w", o.name, err)
	}
	if at.Queue != "" && at.Queue != b.Place {
		b.Queue = queueElsewhere{&protocol.OtherQueueError{Has: at.Queue, Asked: b.Place}}
	}
	o.viewer.Queue = b.Queue
	return nil
}

// queueElsewhere stands for a queue that this command was not given.
type queueElsewhere struct{ err *protocol.OtherQueueError }

func (q queueElsewhere) MakeFlow(context.Context, string, []store.Shard) error { return q.err }

func (q queueElsewhere) DropFlow(context.Context, string) error { return q.err }

func (q queueElsewhere) Receive(context.Context, string, store.Receive) ([]store.Message, error) {
	return nil, q.err
}

func (q queueElsewhere) Commit(context.Context, string, ...store.Unit) ([]bool, error) {
	return nil, q.err
}

func (q queueElsewhere) Depth(context.Context, string, ...store.Shard) ([]store.Depth, error) {
	return nil, q.err
}
