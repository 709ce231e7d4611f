package powercut

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"
)

// writing is one process that writes.
type writing struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended and all it said is in the ledger
	err  error         // of reading what it said
}

// cut lets writers write until so many calls were acknowledged, cuts the power in the middle of that, mounts again and looks.
func (p *play) cut(ctx context.Context, d *disk, l *ledger, dir string, calls int, wrapper []string) (f finding, acks int, err error) {
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
