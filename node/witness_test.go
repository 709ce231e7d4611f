package node

import (
	"bytes"
	"log/slog"
	"strings"
	"syscall"
	"testing"
)

// fullDisk takes so many bytes and then says that it is full.
type fullDisk struct {
	bytes.Buffer
	free int
}

func (d *fullDisk) Write(b []byte) (int, error) {
	if len(b) > d.free {
		n := d.free
		d.Buffer.Write(b[:n])
		d.free = 0
		return n, syscall.ENOSPC
	}
	d.free -= len(b)
	return d.Buffer.Write(b)
}

func (*fullDisk) Close() error { return nil }

// TestAWitnessOnAFullDisk: that lines are lost is said once, and how many when there is space again; a line that was written in part spoils no other one.
func TestAWitnessOnAFullDisk(t *testing.T) {
	t.Parallel()
	d := &fullDisk{free: 100}
	var log bytes.Buffer
	w := &witness{member: "m", file: d, log: slog.New(slog.NewTextHandler(&log, nil))}
	for i := range 1000 {
		w.note(0, "start", "p", 1)
		if i == 990 {
			d.free = 1 << 20
		}
	}
	w.close()
	if got := strings.Count(log.String(), "\n"); got != 2 || !strings.Contains(log.String(), "lost=990") {
		t.Errorf("%d lines:\n%s", got, log.String())
	}
	whole := 0
	for line := range strings.Lines(d.String()) {
		if strings.HasPrefix(line, "{") && strings.HasSuffix(line, "}\n") {
			whole++
		}
	}
	if whole != 10 {
		t.Errorf("%d whole lines:\n%s", whole, d.String())
	}
}
