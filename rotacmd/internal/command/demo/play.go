package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/node"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/file"
)

// Play is one demonstration.
type Play struct {
	options Options
	binary  string
	dir     string
	screen  Screen
	tasks   []string
	members map[string]member
	store   store.Full
	value   cluster.Value
	script  []Act
	began   time.Time
}

// Screen is where it is shown. It is called from one goroutine.
type Screen interface {
	// Say shows one thing that happened.
	Say(at time.Duration, text string)
	// Show shows who runs what; called often.
	Show(rows []Row)
	// Beat is the pause between two scenes: long enough to read, and to notice what should not happen any more.
	Beat() time.Duration
}

// Row is one member.
type Row struct {
	Member string
	State  string // joined, draining, gone, …
	Tasks  []string
}

// The names of the members.
var names = []string{"a", "b", "c"}

// The bounds of waiting. They are for a machine that is very slow; what is promised is measured, not waited for.
const (
	patience = 60 * time.Second
	glance   = 20 * time.Millisecond
)

// Run plays the whole demonstration with members that are started from the binary, or inside this process. What it
// wrote stays in the directory where it failed.
func Run(ctx context.Context, binary string, o Options, screen Screen) (Report, error) {
	if !o.inside() {
		if !canSuspend {
			return Report{}, fmt.Errorf("play the demonstration: %s cannot suspend processes; members inside one process can do without", runtime.GOOS)
		}
		runtime.LockOSThread() // children die with the thread that started them
		defer runtime.UnlockOSThread()
	}
	dir, err := os.MkdirTemp("", "rota-demo-")
	if err != nil {
		return Report{}, fmt.Errorf("make a directory: %w", err)
	}
	p := &Play{options: o, binary: binary, dir: dir, screen: screen, members: map[string]member{}, began: time.Now()}
	r, err := p.run(ctx)
	if err != nil || !r.OK {
		p.say("logs, witness files and the store are kept in %s", dir)
		return r, err
	}
	return r, os.RemoveAll(dir)
}

func (p *Play) run(ctx context.Context) (Report, error) {
	defer p.close()
	var err error
	if p.tasks, err = writeTasks(filepath.Join(p.dir, "tasks"), p.acts()); err != nil {
		return Report{}, err
	}
	p.say("3 members, %s, %d tasks, store %s, TTL %s", p.options.words().kind, len(p.tasks), p.server().Name, ttl)
	for _, scene := range []func(context.Context) error{p.begin, p.crash, p.suspend, p.leave} {
		if err := scene(ctx); err != nil {
			return Report{}, err
		}
		if err := p.rest(ctx); err != nil {
			return Report{}, err
		}
	}
	if err := p.settle(ctx, "all members run their share at the end", names...); err != nil { // one that stood still for a moment may have stopped it
		return Report{}, err
	}
	p.act(End, "", protocol.Now(), 0)
	lines, err := p.readLines()
	if err != nil {
		return Report{}, err
	}
	return Judge(p.options, len(names), p.tasks, p.script, lines), errors.Join(p.store.Close())
}

func (p *Play) say(format string, args ...any) {
	p.screen.Say(time.Since(p.began), fmt.Sprintf(format, args...))
}

func (p *Play) act(k Kind, member string, at protocol.Instant, fewest int) {
	p.script = append(p.script, Act{k, member, int64(at), fewest})
}

// begin starts all members.
func (p *Play) begin(ctx context.Context) error {
	if err := p.start(names[0]); err != nil {
		return err
	}
	if err := p.openStore(ctx); err != nil {
		return err
	}
	for _, m := range names[1:] {
		if err := p.start(m); err != nil {
			return err
		}
	}
	if err := p.settle(ctx, "all members run their share", names...); err != nil {
		return err
	}
	p.say("all %d tasks run, %s", len(p.tasks), p.shares())
	return nil
}

// server is where the members meet: a directory unless a server was given.
func (p *Play) server() Server {
	if s := p.options.Server; s != nil {
		return *s
	}
	dir := filepath.Join(p.dir, "store")
	return Server{Store: "file:" + dir, Name: "file:" + dir, Open: func(ctx context.Context) (store.Full, error) {
		s, err := file.Open(ctx, dir, file.Options{ReadOnly: true})
		if err != nil {
			return nil, err
		}
		return s, nil
	}}
}

// openStore waits until the first member has made the store.
func (p *Play) openStore(ctx context.Context) error {
	return p.await(ctx, "the first member makes the store", func() (bool, error) {
		s, err := p.server().Open(ctx)
		if err != nil {
			return false, nil //nolint:nilerr // not yet; what lasts is told by the member's own log
		}
		p.store = s
		return true, nil
	})
}

func (p *Play) crash(ctx context.Context) error {
	count := len(p.owned("b"))
	at, err := p.members["b"].crash()
	if err != nil {
		return fmt.Errorf("crash b: %w", err)
	}
	p.act(Crash, "b", at, count)
	p.say("%s", p.options.words().crash)
	<-p.members["b"].done()
	if err := p.settle(ctx, "the others run what b ran", "a", "c"); err != nil {
		return err
	}
	if err := p.tell(at, p.options.words().gone); err != nil {
		return err
	}
	if err := p.rest(ctx); err != nil {
		return err
	}
	return p.comeBack(ctx, "b")
}

// comeBack starts a member again.
func (p *Play) comeBack(ctx context.Context, name string) error {
	at := protocol.Now()
	p.act(Join, name, at, p.fairShare())
	if err := p.start(name); err != nil {
		return err
	}
	if err := p.settle(ctx, name+" runs its share", names...); err != nil {
		return err
	}
	return p.tell(at, name+" is back")
}

// fairShare is what a member that joins two others should get.
func (p *Play) fairShare() int { return len(p.tasks) / len(names) }

func (p *Play) suspend(ctx context.Context) error {
	count := len(p.owned("c"))
	at, err := p.members["c"].suspend(ctx)
	if err != nil {
		return fmt.Errorf("suspend c: %w", err)
	}
	p.act(Suspend, "c", at, count)
	p.say("%s", p.options.words().suspend)
	if err := p.settle(ctx, "the others run what c ran", "a", "b"); err != nil {
		return err
	}
	silent := protocol.Now().Sub(at)
	if err := p.tell(at, fmt.Sprintf("c was silent for %s (promised ≤ %s)", Millis(silent.Milliseconds()),
		Millis(MaxSuspendMS))); err != nil {
		return err
	}
	if err := p.rest(ctx); err != nil {
		return err
	}
	back := protocol.Now()
	p.act(Join, "c", back, p.fairShare())
	if err := p.members["c"].resume(); err != nil {
		return fmt.Errorf("resume c: %w", err)
	}
	if err := p.settle(ctx, "c finds itself removed and rejoins", names...); err != nil {
		return err
	}
	return p.tell(back, p.options.words().resume)
}

func (p *Play) leave(ctx context.Context) error {
	count := len(p.owned("a"))
	at, err := p.members["a"].leave()
	if err != nil {
		return fmt.Errorf("let a leave: %w", err)
	}
	p.act(Leave, "a", at, count)
	if err := p.settle(ctx, "the others run what a ran", "b", "c"); err != nil {
		return err
	}
	if err := p.tell(at, p.options.words().leave); err != nil {
		return err
	}
	select {
	case <-p.members["a"].done():
	case <-time.After(patience):
		return fmt.Errorf("a did not end within %s after it had left", patience)
	}
	if err := p.members["a"].err(); err != nil {
		return fmt.Errorf("a did not end well: %w", err)
	}
	if err := p.rest(ctx); err != nil {
		return err
	}
	return p.comeBack(ctx, "a")
}

// tell says what moved since an instant, by what the members wrote down.
func (p *Play) tell(since protocol.Instant, what string) error {
	lines, err := p.readLines()
	if err != nil {
		return err
	}
	lines = slices.DeleteFunc(lines, func(l node.WitnessLine) bool { return !slices.Contains(p.tasks, l.Partition) })
	moves := Between(Moves(Intervals(lines, p.options.cuts(p.script))), int64(since), open)
	to := map[string]int{}
	for _, m := range moves {
		to[m.To]++
	}
	var parts []string
	for _, n := range names {
		if to[n] > 0 {
			parts = append(parts, fmt.Sprintf("%d → %s", to[n], n))
		}
	}
	p.say("%s; %d tasks moved: %s, at most %s without an owner", what, len(moves), strings.Join(parts, ", "),
		Millis(LongestGapMS(moves)))
	return nil
}
