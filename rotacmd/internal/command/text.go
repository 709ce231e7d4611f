package command

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/rota-run/rota/internal/plain"
)

// grouped writes 48211 as 48,211.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// ago is how long ago a wall clock time was: 3d, 2h, 14m, 5s; "-" where it is unknown.
func ago(ms int64, now time.Time) string {
	if ms <= 0 {
		return "-"
	}
	return short(now.Sub(time.UnixMilli(ms)))
}

func short(d time.Duration) string {
	switch {
	case d < time.Second:
		return "now"
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// clock is a time of day, with the date where that is not today.
func clock(ms int64, now time.Time) string {
	t := time.UnixMilli(ms)
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return t.Format("15:04:05")
	}
	return t.Format("2006-01-02 15:04:05")
}

// gapText is a gap as people say it: 12 ms, 4.2 s.
func gapText(ms int64) string {
	if ms < 1000 && ms > -1000 {
		return fmt.Sprintf("%d ms", ms)
	}
	return fmt.Sprintf("%.1f s", float64(ms)/1000)
}

// table writes rows in columns; without a header where that is empty.
func table(w io.Writer, rows [][]string) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		cells := make([]string, len(r))
		for i, c := range r {
			cells[i] = printable(c)
		}
		if _, err := fmt.Fprintln(tw, strings.Join(cells, "\t")); err != nil {
			return err
		}
	}
	return tw.Flush()
}

// printable keeps control and bidi characters, which others may have put into a name or a message, from the terminal.
func printable(s string) string { return plain.Line(s, '·') }
