package powercut

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
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
	lie := []string{"strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync,fdatasync", "-e", "inject=fsync,fdatasync:retval=0"}
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
		p.say("control         cut %2d: %3d calls acknowledged without a sync, %d entries lost, as they should", i+1, acks, f.lost)
	}
	return nil
}
