package demo

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

var (
	_ Screen = (*Plain)(nil)
	_ Screen = (*Live)(nil)
)

// Plain shows lines alone.
type Plain struct{ To io.Writer }

// Say implements Screen.
func (s *Plain) Say(at time.Duration, text string) {
	fmt.Fprintf(s.To, "%s  %s\n", stamp(at), text)
}

// Show implements Screen: not here.
func (s *Plain) Show([]Row) {}

// Beat implements Screen.
func (s *Plain) Beat() time.Duration { return 500 * time.Millisecond }

// Beat implements Screen: time to read.
func (s *Live) Beat() time.Duration { return 2 * time.Second }

func stamp(at time.Duration) string {
	return fmt.Sprintf("%02d:%04.1f", int(at.Minutes()), at.Seconds()-60*float64(int(at.Minutes())))
}

// Live shows lines and below them, on a terminal, who runs what.
type Live struct {
	To    io.Writer
	Width func() int
	Color bool
	rows  []Row
	drawn int // lines on the screen that are redrawn
}

// Say implements Screen.
func (s *Live) Say(at time.Duration, text string) {
	s.erase()
	fmt.Fprintf(s.To, "%s  %s\n", stamp(at), text)
	s.draw()
}

// Show implements Screen.
func (s *Live) Show(rows []Row) {
	if slices.EqualFunc(s.rows, rows, func(a, b Row) bool {
		return a.Member == b.Member && a.State == b.State && slices.Equal(a.Tasks, b.Tasks)
	}) {
		return
	}
	s.erase()
	s.rows = rows
	s.draw()
}

// Close removes the table.
func (s *Live) Close() { s.erase() }

func (s *Live) erase() {
	if s.drawn > 0 {
		fmt.Fprintf(s.To, "\x1b[%dA\x1b[J", s.drawn)
		s.drawn = 0
	}
}

func (s *Live) draw() {
	for _, r := range s.rows {
		fmt.Fprintln(s.To, s.line(r))
		s.drawn++
	}
}

func (s *Live) line(r Row) string {
	mark, color := "●", "32"
	switch r.State {
	case "gone":
		mark, color = "○", "31"
	case "draining", "prepared", "held":
		mark, color = "◐", "33"
	}
	rest := []rune(fmt.Sprintf("  %2d  %s", len(r.Tasks), strings.Join(r.Tasks, " ")))
	rest = rest[:min(len(rest), max(0, s.Width()-len(r.Member)-6))]
	if s.Color {
		mark = "\x1b[" + color + "m" + mark + "\x1b[0m"
	}
	return "  " + r.Member + "  " + mark + string(rest)
}
