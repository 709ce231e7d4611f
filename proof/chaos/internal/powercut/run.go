// Package powercut cuts the power of real file systems while processes write to a store of the kind `file`, and looks
// what is left.
//
// # Purpose
//
// The store says that what it has acknowledged survives a power cut where the disk keeps what it has synced. Here a
// file system in an image file is mounted through a loop device, processes append entries, change documents and work on
// a flow, and in the middle of that the file system is shut down by the ioctl that ext4 and xfs have for such tests:
// from that instant on nothing of it reaches the device, neither data nor its own journal. Then it is mounted again, as
// after a power cut.
//
// # What is decided
//
// The store opens; every acknowledged entry is there with its bytes, or a snapshot that covers it; every entry that is
// there was given to it by somebody; indexes have no holes; the chain of hashes that each entry carries holds; every
// document has what was acknowledged last, or what was on its way; each segment of the flow is in one place, where it
// was acknowledged to be or further. A new directory whose first entry was acknowledged is there.
//
// # The control
//
// A rig that finds nothing proves nothing. So the same is done with writers whose fsync is a lie (strace answers it
// without doing it): then acknowledged entries must be missing, or the outcome is not ok.
//
// # What is not guaranteed
//
// The loop device has no cache of its own that could be lost: what the file system has sent to it stays. A store that
// synced but forgot to make the disk flush its cache would pass; SQLite leaves that to the file system's fsync. Torn
// sectors are not made.
package powercut

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Options say how it is played.
type Options struct {
	Cuts int // in all, shared by the file systems that can be had; default 50
	Seed uint64
	Dir  string    // where images and mount points go; default a temporary directory
	Self []string  // the command that runs [Write]; the directory and the name are added
	Out  io.Writer // for people; default nobody
}

// writers is how many processes write at the same time.
const writers = 3

// controlCuts is how many cuts the control takes.
const controlCuts = 3

// patience bounds every wait.
const patience = 60 * time.Second

type play struct {
	options Options
	chance  *rand.Rand
	report  *Report
	dir     string
	starts  int
}

// Run plays it. The error says that it broke off; what was lost stands in the report.
func Run(ctx context.Context, o Options) (Report, error) {
	o.Cuts, o.Seed = cmp.Or(o.Cuts, 50), cmp.Or(o.Seed, 1)
	if o.Out == nil {
		o.Out = io.Discard
	}
	began := time.Now()
	r := Report{Seed: o.Seed, FS: []string{}, NotDone: []string{}, Faults: []string{}}
	p := &play{options: o, chance: rand.New(rand.NewPCG(o.Seed, 0xc01d)), report: &r, dir: o.Dir}
	err := p.all(ctx)
	r.decide()
	r.Seconds = float64(time.Since(began).Milliseconds()) / 1000
	if err != nil || !r.OK && r.Possible {
		r.Kept = p.dir
		return r, err
	}
	return r, os.RemoveAll(p.dir)
}

func (p *play) all(ctx context.Context) (err error) {
	if p.dir == "" {
		if p.dir, err = os.MkdirTemp("", "rota-powercut-"); err != nil {
			return err
		}
	}
	var disks []*disk
	var names []string
	for _, k := range kinds() {
		d, err := newDisk(filepath.Join(p.dir, k.name), k)
		if err != nil {
			p.say("NOT DONE: %s: %v", k.name, err)
			p.report.NotDone = append(p.report.NotDone, fmt.Sprintf("%s: %v", k.name, err))
			continue
		}
		disks, names = append(disks, d), append(names, k.name)
	}
	for i, d := range disks {
		if err == nil {
			cuts := p.options.Cuts / len(disks)
			if i < p.options.Cuts%len(disks) {
				cuts++
			}
			err = p.on(ctx, d, names[i], cuts)
		}
		if err == nil && i == 0 {
			err = p.control(ctx, d)
		}
		if e := d.close(); err == nil {
			err = e
		}
	}
	return err
}

func (p *play) say(format string, args ...any) { fmt.Fprintf(p.options.Out, format+"\n", args...) }

// on cuts the power of one file system again and again. One cut of five finds a new store, a few calls old.
func (p *play) on(ctx context.Context, d *disk, name string, cuts int) error {
	p.report.FS = append(p.report.FS, name)
	l, dir := newLedger(), ""
	for i := range cuts {
		calls := 10 + p.chance.IntN(120)
		if i%5 == 0 {
			p.report.Stores++
			l, dir = newLedger(), filepath.Join(d.mnt, fmt.Sprintf("store-%d", i))
			calls = p.chance.IntN(12)
		}
		f, acks, err := p.cut(ctx, d, l, dir, calls, nil)
		if err != nil {
			return err
		}
		p.report.Cuts++
		p.report.Acked += acks
		p.report.Lost += f.lost
		p.report.Segments += f.segments
		p.report.Unknown += f.unknown
		p.report.Late += f.late
		p.report.LateGone += f.gone
		for _, fault := range f.faults {
			p.report.Faults = append(p.report.Faults, fmt.Sprintf("%s, cut %d: %s", name, i+1, fault))
		}
		p.say("%-15s cut %2d: %3d calls acknowledged, %d entries and %d segments looked for, %d lost, %d on their way are there%s",
			name, i+1, acks, f.entries, f.segments, f.lost, f.unknown, faultText(f))
	}
	return nil
}

func faultText(f finding) string {
	if len(f.faults) == 0 {
		return ""
	}
	return fmt.Sprintf(" FAULT %v", f.faults)
}

// control does the same with writers whose fsync is answered and not done.
func (p *play) control(ctx context.Context, d *disk) error {
	lie := []string{"strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync,fdatasync", "-e",
		"inject=fsync,fdatasync:retval=0"}
	if err := command(append(lie, "true")...); err != nil {
		p.report.Control.Why = err.Error()
		p.say("NOT DONE: control: %v", err)
		return nil
	}
	for i := range controlCuts {
		f, acks, err := p.cut(ctx, d, newLedger(), filepath.Join(d.mnt, fmt.Sprintf("control-%d", i)), 40, lie)
		if err != nil {
			return err
		}
		p.report.Control.Cuts++
		p.report.Control.Acked += acks
		p.report.Control.Lost += f.lost
		p.say("control         cut %2d: %3d calls acknowledged without a sync, %d entries lost, as they should", i+1,
			acks, f.lost)
	}
	return nil
}

// writing is one process that writes.
type writing struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended and all it said is in the ledger
	err  error         // of reading what it said
}

// cut lets writers write until so many calls were acknowledged, cuts the power in the middle of that, mounts again and
// looks.
func (p *play) cut(ctx context.Context, d *disk, l *ledger, dir string, calls int,
	wrapper []string) (f finding, acks int, err error) {
	l.settle()
	var all []*writing
	for i := range writers {
		p.starts++
		w, err := p.start(l, dir, fmt.Sprintf("w%d.%d", i, p.starts), wrapper)
		if err != nil {
			return f, 0, errors.Join(err, stop(all))
		}
		all = append(all, w)
	}
	waited := await(ctx, l, calls, all)
	l.cutting()
	err = d.cut()
	if err := errors.Join(waited, err, stop(all)); err != nil {
		return f, 0, err
	}
	acks = l.acknowledged()
	if err := errors.Join(d.unmount(), d.mount()); err != nil {
		return f, acks, err
	}
	return l.verify(ctx, dir), acks, nil
}

func (p *play) start(l *ledger, dir, name string, wrapper []string) (*writing, error) {
	args := append(append(append([]string{}, wrapper...), p.options.Self...), dir, name)
	w := &writing{cmd: exec.Command(args[0], args[1:]...), done: make(chan struct{})}
	w.cmd.SysProcAttr = attributes()
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := w.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a writer: %w", err)
	}
	go func() {
		defer close(w.done)
		w.err = l.read(out)
		_ = w.cmd.Wait() // it ends because its disk is gone, or because it is killed
	}()
	return w, nil
}

// await waits until so many calls were acknowledged.
func await(ctx context.Context, l *ledger, calls int, all []*writing) error {
	limit := time.After(patience)
	for l.acknowledged() < calls {
		select {
		case <-l.news:
		case <-all[0].done:
			return errors.New("a writer ended before the power was cut")
		case <-limit:
			return fmt.Errorf("%d of %d calls were acknowledged within %s", l.acknowledged(), calls, patience)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// stop kills the writers that have not ended by themselves, with what runs them, and waits.
func stop(all []*writing) error {
	var errs []error
	for _, w := range all {
		select {
		case <-w.done:
		default:
			killGroup(w.cmd.Process)
			<-w.done
		}
		errs = append(errs, w.err)
	}
	return errors.Join(errs...)
}

// Report is the outcome.
type Report struct {
	Cuts     int      `json:"cuts"`
	Acked    int      `json:"acked"`    // entries, changes of documents and commits of a flow that were acknowledged
	Lost     int      `json:"lost"`     // of these
	Segments int      `json:"segments"` // of the flow, looked for after each cut and found in one place
	FS       []string `json:"fs"`
	NotDone  []string `json:"not_done"`  // file systems that could not be had, and why
	Stores   int      `json:"stores"`    // that were recreated, some of them cut right then
	Unknown  int      `json:"unknown"`   // entries that were on their way when it was cut, and are there
	Late     int      `json:"late"`      // entries whose acknowledgement came while the power was being cut
	LateGone int      `json:"late_gone"` // of these, not there
	Control  Control  `json:"control"`
	Faults   []string `json:"faults"`
	Seed     uint64   `json:"seed"`
	Seconds  float64  `json:"seconds"`
	Kept     string   `json:"kept,omitempty"`
	Possible bool     `json:"possible"` // false: nothing could be done here
	OK       bool     `json:"ok"`
}

// Control is what became of writers whose fsync was a lie.
type Control struct {
	Cuts  int    `json:"cuts"`
	Acked int    `json:"acked"`
	Lost  int    `json:"lost"`
	Why   string `json:"why,omitempty"` // it was not done
}

func (r *Report) decide() {
	r.Possible = r.Cuts > 0
	if r.Control.Cuts > 0 && r.Control.Lost == 0 {
		r.Faults = append(r.Faults, "writers whose fsync was a lie lost nothing: this rig would notice nothing")
	}
	r.OK = r.Possible && len(r.Faults) == 0 && r.Lost == 0
}
