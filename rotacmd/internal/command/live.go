package command

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/api"
	"github.com/rota-run/rota/internal/node"
	"github.com/rota-run/rota/internal/source/directory"
	"github.com/rota-run/rota/internal/view"
	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/rotacmd/internal/logging"
	"github.com/rota-run/rota/rotacmd/internal/storeurl"
)

// defaultMember is the host name with a random suffix, so that two processes on one host are two members.
func defaultMember() cluster.MemberID {
	host, err := os.Hostname()
	if err != nil {
		host = "member"
	}
	host, _, _ = strings.Cut(host, ".")
	clean := strings.Map(func(r rune) rune {
		if cluster.CheckName("x"+string(r)) == nil {
			return r
		}
		return '-'
	}, host)
	b := make([]byte, 2)
	rand.Read(b) // never fails
	return cluster.MemberID(strings.TrimLeft(clean[:min(len(clean), 60)]+"-"+hex.EncodeToString(b), ".-"))
}

// live runs the member until it is told to stop.
func (c *config) live(ctx context.Context, l net.Listener, a api.Access) error {
	before, err := c.node.Protocol.Observe(ctx, c.node.Store, cluster.Value{})
	if err != nil {
		return fmt.Errorf("store %s: %w", storeurl.Hide(c.store), err)
	}
	c.node.Cache = directory.NewCache()
	at, err := protocol.At(ctx, c.node.Store)
	if err != nil {
		return fmt.Errorf("store %s: %w", storeurl.Hide(c.store), err)
	}
	if has, asked := at.Protocol, c.node.Protocol.Name(); has != "" && has != asked {
		return otherProtocol(&protocol.OtherProtocolError{Has: has, Asked: asked})
	}
	if has, asked := at.Queue, cmp.Or(c.node.Broker.Place, protocol.OwnQueue); has != "" && has != asked {
		return otherProtocol(&protocol.OtherQueueError{Has: has, Asked: asked})
	}
	w := &welcome{c: c, fresh: before.Index() == 0 && at.Protocol == ""}
	c.node.Events = node.Events{Joined: w.joined, Removed: w.removed, Started: w.started}
	n, err := node.New(c.node)
	if err != nil {
		return misused("rota run --help", "%w", err)
	}
	w.node = n
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer c.onSignals(stop, n)()
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(w.begin) // joining does not wait until all task files are read
	serving, quit := context.WithCancel(context.WithoutCancel(ctx))
	defer quit()
	if l != nil {
		wg.Go(func() { c.serve(serving, l, a, n) })
	}
	if d, l := c.openLocalServer(n); d != nil {
		wg.Go(func() { d.serve(serving, l, c.node.Logger) })
	}
	err = c.withLocks(ctx, func(ctx context.Context) error { return n.Run(ctx, nil) })
	if taken, ok := errors.AsType[*protocol.NameTakenError](err); ok {
		return failed(fmt.Sprintf("another --member name, or stop the other process; after a crash wait %s",
			c.node.TTL), "%w", takenText(taken, n.Value()))
	}
	if evicted, ok := errors.AsType[*protocol.EvictedError](err); ok {
		return failed("start it again when it may take tasks", "%w", evicted)
	}
	if err != nil {
		return otherProtocol(err)
	}
	if l, ok := c.node.Logger.Handler().(*logging.Limiter); ok {
		l.Flush()
	}
	w.tellMoved()
	c.say("%s %s", c.node.Member, leftText(n.Status().Member))
	return nil
}

// leftText says how a member has ended. Without a store it cannot say that it leaves.
func leftText(s protocol.Status) string {
	if s.StoreError != "" {
		return "ended while the store did not answer: others take its tasks when they reach it"
	}
	return "left gracefully"
}

// withLocks gives what runs under the ctx of run locks: see rota.LocksFrom.
func (c *config) withLocks(ctx context.Context, run func(ctx context.Context) error) error {
	locks, err := rota.OpenLocks(c.node.Store, rota.LocksOptions{
		TTL: c.node.TTL, Owner: string(c.node.Member), NoSessions: c.node.NoSessions, Guard: c.node.Guard,
		Logger: c.node.Logger,
	})
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), c.node.TTL/3)
		defer cancel()
		_ = locks.Close(ctx) // what is left, others find silent
	}()
	return run(rota.WithLocks(ctx, locks))
}

func takenText(e *protocol.NameTakenError, v cluster.Value) error {
	m, ok := v.Member(e.Member)
	if !ok || m.SinceMS == 0 {
		return e
	}
	return fmt.Errorf("%w (since %s)", e, clock(m.SinceMS, time.Now()))
}

// serve answers the API until ctx ends. A member goes on without it.
func (c *config) serve(ctx context.Context, l net.Listener, a api.Access, n *node.Node) {
	var past *view.Past
	if historian, ok := c.node.Protocol.(protocol.Historian); ok {
		past = &view.Past{Historian: historian, Store: c.node.Store}
	}
	err := api.Serve(ctx, l, api.Config{
		Queue: n.Queue(), Past: past,
		Value: n.Whole, Journal: n.Journal(), Lookout: view.NewLookout(c.node.Store, protocol.Now),
		Store: storeurl.Hide(c.store), Protocol: c.node.Protocol.Name(), Member: string(c.node.Member),
		Place: placeOf(c.store), Ready: n.Ready, Token: a.Token, Users: a.Users, Logger: c.node.Logger,
		Local:   func() any { return n.Status() },
		Actions: c.actions(n),
		Metrics: promhttp.HandlerFor(metricsOf(n), promhttp.HandlerOpts{}),
	})
	if err != nil {
		c.node.Logger.Error("serve the API", "err", err)
	}
}

// welcome says what happens while a member starts.
type welcome struct {
	c     *config
	fresh bool // nobody has used the store
	node  *node.Node
	again atomic.Bool // it has joined before
	moved atomic.Int64

	mu    sync.Mutex
	begun bool
	later []string // lines that wait for the first one
}

// begin says the first line, and what was to be said meanwhile.
func (w *welcome) begin() {
	first := w.first()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.c.say("%s", first)
	for _, line := range w.later {
		w.c.say("%s", line)
	}
	w.begun, w.later = true, nil
}

// say says a line after the first one.
func (w *welcome) say(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.begun {
		w.later = append(w.later, fmt.Sprintf(format, args...))
		return
	}
	w.c.say(format, args...)
}

// first is the line before joining.
func (w *welcome) first() string {
	parts := []string{w.c.own.name() + " " + version, "member " + string(w.c.node.Member),
		"store " + storeurl.Hide(w.c.store)}
	if w.fresh {
		parts[2] += " (new)"
	}
	for _, name := range directory.Names(w.c.node.Sources, w.c.node.Files) {
		dirs, files := w.c.node.Sources[name], w.c.node.Files[name]
		s := w.c.node.Cache.Scan(dirs, files, name, w.c.node.Types)
		if files != nil {
			dirs = append(slices.Clone(dirs), "source "+name)
		}
		text := many(len(s.Definitions), "task") + " from " + strings.Join(dirs, ", ")
		if len(s.Faults) > 0 {
			text += fmt.Sprintf(" (%s: see rota events)", many(len(s.Faults), "fault"))
		}
		parts = append(parts, text)
	}
	if w.c.node.Address != "" {
		parts = append(parts, "API http://"+w.c.node.Address)
	}
	return strings.Join(parts, " · ")
}

func (w *welcome) joined(inc cluster.Incarnation, took time.Duration) {
	who := company(w.node.Value(), w.c.node.Member, inc)
	if w.again.Swap(true) {
		w.say("%s again", who)
		return
	}
	w.say("%s in %s · %s%s", who, gapText(took.Milliseconds()), w.c.sampleText, w.c.statusHint())
	for _, name := range directory.Names(w.c.node.Sources, w.c.node.Files) {
		if reader := readerOf(w.node.Value(), name); reader != "" && reader != w.c.node.Member {
			w.say("source %s: the files of %s count", name, reader)
		}
	}
}

// statusHint is how to see the cluster; "" where no other process can.
func (c *config) statusHint() string {
	if strings.HasPrefix(c.store, "memory:") {
		return ""
	}
	return " · status: rota status --store " + storeWord(c.store)
}

// company says whom a member has joined, as far as a value tells that knows of it: under lease it comes a moment later.
func company(v cluster.Value, self cluster.MemberID, inc cluster.Incarnation) string {
	if m, ok := v.Member(self); !ok || m.Incarnation != inc {
		return "joined"
	}
	others := 0
	for m := range v.Members() {
		if m.ID != self && m.State == cluster.MemberJoined {
			others++
		}
	}
	if others > 0 {
		return "joined " + many(others, "other member")
	}
	return "joined as the first member"
}

func (w *welcome) removed(reason string) {
	w.say("was removed (%s): stopped its tasks, rejoining", reason)
}

// movedHere tells whether a start is that of a task which another member had before: not one that starts again here,
// and not one that this member gets back.
func movedHere(r supervisor.RunStarted, self cluster.MemberID) bool {
	from := r.Grant.From
	return r.First && from != "" && from != self && !r.Partition.Reserved()
}

// started says, once, when others hand over tasks to the new member.
func (w *welcome) started(r supervisor.RunStarted) {
	if name, source := strings.CutPrefix(string(r.Partition), directory.LabelKey("")); source {
		w.say("source %s: the files of this member count", name)
		return
	}
	if !movedHere(r, w.c.node.Member) {
		return
	}
	if w.moved.Add(1) == 1 {
		time.AfterFunc(time.Second, w.tellMoved)
	}
}

// tellMoved says how many tasks have moved here since it was said last, if any: a member that leaves does not wait.
func (w *welcome) tellMoved() {
	if n := w.moved.Swap(0); n > 0 {
		w.say("%s moved here from others", many(int(n), "task"))
	}
}
