package logging

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
)

// disk takes so many bytes and then says that it is full.
type disk struct {
	bytes.Buffer
	free  int
	calls int
	short bool // it takes less than it is given, and says nothing
}

func (d *disk) Write(b []byte) (int, error) {
	if d.calls++; d.short {
		return len(b) - 1, nil
	}
	if len(b) > d.free {
		n := d.free
		d.Buffer.Write(b[:n])
		d.free = 0
		return n, syscall.ENOSPC
	}
	d.free -= len(b)
	return d.Buffer.Write(b)
}

// TestTheSameIsSaidSeldom: what goes wrong a thousand times a second is in the log a few times, and all of it is
// accounted for.
func TestTheSameIsSaidSeldom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		limit := Limit(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelInfo}))
		log := slog.New(limit)
		log.Debug("not wanted")
		const total = 60_000
		for i := range total {
			if i%2 == 0 {
				log.With("n", i).Warn("write the file")
			} else {
				log.WithGroup("g").Warn("write the file", "n", i)
			}
			if i%1000 == 0 {
				log.WithGroup("g").Info("another thing", "i", i)
			}
			time.Sleep(time.Millisecond) // waits: virtual time
		}
		log.Info("disk")
		for range Burst {
			log.Error("disk")
		}
		limit.Flush()
		if text := out.String(); !strings.Contains(text, "level=ERROR msg=\"the same was logged more often\" message=disk left_out=1\n") ||
			!strings.Contains(text, " n=0\n") || !strings.Contains(text, " g.n=1\n") || strings.Contains(text, "not wanted") {
			t.Errorf("got\n%s", text)
		}
		lines, left := 0, 0
		for line := range strings.Lines(out.String()) {
			var n int
			switch i := strings.Index(line, "left_out="); {
			case strings.Contains(line, "disk"):
			case i >= 0:
				if _, err := fmt.Sscanf(line[i:], "left_out=%d", &n); err != nil ||
					!strings.Contains(line, `message="write the file"`) {
					t.Fatalf("got %q", line)
				}
				left += n
			case strings.Contains(line, "write the file"):
				lines++
			}
		}
		if lines+left != total || lines != 6*Burst {
			t.Errorf("%d lines and %d left out of %d", lines, left, total)
		}
		if got := strings.Count(out.String(), "another thing"); got != 60 {
			t.Errorf("another message was written %d times of 60", got)
		}
	})
}

// TestAFullDiskIsSaidOnce: lines that cannot be written are counted, and one line says so when there is space again.
func TestAFullDiskIsSaidOnce(t *testing.T) {
	t.Parallel()
	d := &disk{free: 25}
	w, waited := NewWriter(d), time.Duration(0)
	w.ready = func(atMost time.Duration) bool { waited += atMost; return true }
	say := func(line string) {
		t.Helper()
		if n, err := io.WriteString(w, line); n != len(line) || err != nil {
			t.Fatalf("the log failed: %d, %v", n, err)
		}
	}
	say("first line\n")
	for range 1000 {
		say("a line that is lost\n") // the first in part
	}
	if lostBy(w) != 1000 {
		t.Errorf("%d are counted", lostBy(w))
	}
	d.free = 10
	say("still no space\n")
	d.free = 1000
	say("back\n")
	say("last\n")
	want := "first line\na line that is\n1001 lines of this log were lost: no space left on device\nback\nlast\n"
	want = strings.Replace(want, "a line that is\n", "a line that is\n1000 line\n", 1) // each beginning ends its line
	if got := d.String(); got != want || lostBy(w) != 0 {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if waited != 3*Patience {
		t.Errorf("it has waited %s: once for a line that is lost, and not for those behind it", waited)
	}
	d.short = true
	say("cut\n")
	if lostBy(w) != 1 {
		t.Error("a line that was cut is not counted")
	}
}

// TestNobodyReadsThePipe: a log to a pipe that is full waits once, and loses lines instead of stopping the member.
func TestNobodyReadsThePipe(t *testing.T) {
	t.Parallel()
	r, out, err := os.Pipe()
	must.Succeed(t, err)
	defer r.Close()
	defer out.Close()
	w := NewWriter(out)
	line := strings.Repeat("x", 1023) + "\n"
	ended := make(chan int)
	go func() {
		n := 0
		for ; lostBy(w) < 1000; n++ {
			io.WriteString(w, line)
		}
		ended <- n
	}()
	select {
	case n := <-ended:
		buf := make([]byte, n*len(line))
		go io.ReadFull(r, buf[:(n-1000)*len(line)])
		for lostBy(w) > 0 {
			io.WriteString(w, "back\n")
		}
	case <-time.After(time.Minute):
		t.Fatal("a line waits for the reader of the pipe")
	}
}

// lostBy is how many lines were lost since the last one was written.
func lostBy(w *Writer) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lost
}
