package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/rota-run/rota/proof/process"
)

// failSync lets the disk refuse one member's fsync for a while.
func (c *Cluster) failSync(context.Context) (string, error) {
	return c.inject("fsync-fails", "fsync fails", c.between(20, 130), "-e", "trace=fsync,fdatasync", "-e", "inject=fsync,fdatasync:error=EIO")
}

// failWrite lets one member's writes to the database's journal fail, as on a full or a broken disk.
func (c *Cluster) failWrite(context.Context) (string, error) {
	code := []string{"EIO", "ENOSPC"}[c.chance.IntN(2)]
	return c.inject("write-fails", "writes fail with "+code, c.between(20, 130),
		"-P", c.storeDir()+"/rota.db-wal", "-e", "trace=write,pwrite64", "-e", "inject=write,pwrite64:error="+code)
}

// slowDisk makes one member's fsync slow; it has the turn to write meanwhile.
func (c *Cluster) slowDisk(context.Context) (string, error) {
	return c.inject("disk-slow", "fsync takes 60 ms more", c.between(50, 150), "-e", "trace=fsync,fdatasync", "-e", "inject=fsync,fdatasync:delay_enter=60000")
}

// inject has strace spoil system calls of one member for a while.
func (c *Cluster) inject(kind, what string, d time.Duration, args ...string) (string, error) {
	p, err := c.pick(func(p *started) bool { return !p.traced })
	if err != nil {
		return "", err
	}
	calls := p.log + ".strace"
	args = append([]string{"-f", "-qq", "-o", calls, "-p", fmt.Sprint(p.PID())}, args...)
	tracer, err := process.Start(exec.Command("strace", args...))
	if err != nil {
		return "", err
	}
	p.traced = true
	status := fmt.Sprintf("/proc/%d/status", p.PID())
	c.await("strace is attached", func() bool { return p.Ended() || traced(status) })
	c.later(d, p.Ended, func() error {
		p.traced = false
		if err := ignoreEnd(tracer.Signal(os.Interrupt)); err != nil {
			return err
		}
		select {
		case <-tracer.Done():
			return c.countInjected(kind, calls)
		case <-time.After(patience):
			return errors.Join(errors.New("strace does not end"), tracer.Kill())
		}
	})
	return fmt.Sprintf("%s: %s for %s", p.name, what, d.Round(time.Millisecond)), nil
}

// countInjected counts the system calls that were spoilt: a fault that hit nothing proves nothing.
func (c *Cluster) countInjected(kind, calls string) error {
	b, err := os.ReadFile(calls)
	if errors.Is(err, os.ErrNotExist) {
		return nil // the member ended before strace was there
	}
	if err != nil {
		return fmt.Errorf("count what was injected: %w", err)
	}
	c.injected[kind] += strings.Count(string(b), "(INJECTED)") + strings.Count(string(b), "(DELAYED)")
	return os.Remove(calls)
}

func traced(status string) bool {
	b, err := os.ReadFile(status)
	return err == nil && strings.Contains(string(b), "TracerPid:\t") && !strings.Contains(string(b), "TracerPid:\t0\n")
}
