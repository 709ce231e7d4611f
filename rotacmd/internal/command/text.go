package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/rota-run/rota/internal/safetext"
	"github.com/rota-run/rota/internal/view"
	"github.com/rota-run/rota/rotacmd/internal/storeurl"
	"github.com/rota-run/rota/rotacmd/stores"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/file"
	"github.com/rota-run/rota/tasks"
	"github.com/rota-run/rota/tasks/program"
	"github.com/rota-run/rota/work"
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
func printable(s string) string { return safetext.Line(s, '·') }

// What a command wants to do with a store.
const (
	look   = stores.Look   // read; must exist
	change = stores.Change // append; must exist
	member = stores.Create // all; made if it is not there
)

func openStore(ctx context.Context, e env, text string, a stores.Access) (store.Full, error) {
	return openBeside(ctx, e, text, "", a)
}

// openBeside opens the store at a place beside that of the cluster.
func openBeside(ctx context.Context, e env, text, suffix string, a stores.Access) (store.Full, error) {
	st, err := stores.Open(ctx, text, e.storeOptions(suffix, a))
	if err != nil {
		return nil, storeFault(text, suffix, a, err)
	}
	return st, nil
}

func (e env) storeOptions(suffix string, a stores.Access) stores.Options {
	return stores.Options{Access: a, Beside: suffix, Kinds: e.own.Stores, Getenv: e.getenv}
}

// storeWord is a store as a word of a shell, to be typed again. Where nothing is wrong with the text, it only names
// secrets.
func storeWord(text string) string {
	if stores.Check(text, stores.Options{Getenv: func(string) string { return "there" }}) != nil {
		text = storeurl.Hide(text)
	}
	return safetext.Word(text)
}

// storeFault adds to an error of a store what to try.
func storeFault(text, suffix string, a stores.Access, err error) error {
	scheme, _, _ := strings.Cut(text, ":")
	_, unreachable := errors.AsType[*stores.OpenError](err)
	dir, wrongDir := stores.Directory(text)
	var wrong *stores.Error
	parameter, wrongParameter := errors.AsType[*storeurl.ParameterError](err)
	switch {
	case wrongParameter:
		return misused(parameter.Try, "%w", err)
	case errors.As(err, &wrong):
		return misused("--store "+strings.Join(wrong.Instead, " or --store "), "%w", wrong.Err)
	case a != member && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, store.ErrNotFound)):
		return failed("rota run --store "+storeWord(text)+" ./tasks", "%w", err)
	case errors.Is(err, file.ErrShared) && wrongDir == nil:
		return failed("chmod 700 "+dir+", or a new directory in it: --store file:"+dir+"/store; or --store 'file:"+dir+
			"?shared=yes"+
			"': then those who may write there can remove or replace the files of the cluster", "%w", err)
	case errors.Is(err, syscall.ENOTDIR):
		return failed("another path: a part of this one is a file", "%w", err)
	case !unreachable:
		return err
	case suffix != "": // a check of the store is what was just tried
		return failed("what docs/stores/"+scheme+".md says of this error; or another address, or start the server there",
			"%w", err)
	}
	return failed("rota store check "+storeWord(text), "%w", err)
}

// allowed is what a member allows its tasks besides what is harmless: addresses, programs, their variables, directories
// of log files, and of what they write.
type allowed struct {
	net, exec, env, tail, write []string
	programs                    *program.Room // nil for the default
}

// typesOf is the table of task types under what the member allows.
func (e env) typesOf(a allowed, dev bool) (work.Types, error) {
	nets, err := tasks.ParseCIDRs(a.net)
	if err != nil {
		return nil, misused("--allow-net 10.0.0.0/8", "allow-net: %w", err)
	}
	for _, one := range []struct {
		flag, below string
		paths       []string
	}{{"allow-exec", "/usr/bin/", a.exec}, {"allow-tail", "/var/log/", a.tail}, {"allow-write", "/var/lib/", a.write}} {
		if i := slices.IndexFunc(one.paths, func(p string) bool { return !filepath.IsAbs(p) }); i >= 0 {
			wrong := one.paths[i]
			return nil, misused("--"+one.flag+" "+one.below+filepath.Base(wrong), "%s %q: it is not an absolute path",
				one.flag, wrong)
		}
	}
	types := tasks.Builtin(tasks.Options{
		AllowCIDRs: nets, ExecAllow: a.exec, EnvAllow: a.env, TailAllow: a.tail, WriteAllow: a.write,
		Programs: a.programs, Witness: dev,
	})
	if err := e.own.check(types); err != nil {
		return nil, fmt.Errorf("this program: %w", err)
	}
	for _, t := range e.own.Types {
		types[t.Name] = t
	}
	return types, nil
}

// momentForms are how a person writes an instant, with whether the day is missing.
var momentForms = []struct { // read-only: a table
	form string
	day  bool
}{
	{time.RFC3339, false}, {"2006-01-02T15:04:05", false}, {time.DateTime, false}, {"2006-01-02 15:04", false},
	{time.TimeOnly, true}, {"15:04", true},
}

// instantOf reads an instant: 14:02 is the last one, today or yesterday, by this machine's clock and time zone.
func instantOf(text string, now time.Time) (time.Time, bool) {
	for _, f := range momentForms {
		t, err := time.ParseInLocation(f.form, text, now.Location())
		switch {
		case err != nil:
		case !f.day:
			return t, true
		default:
			y, m, d := now.Date()
			t = time.Date(y, m, d, t.Hour(), t.Minute(), t.Second(), 0, now.Location())
			if t.After(now) {
				t = t.AddDate(0, 0, -1)
			}
			return t, true
		}
	}
	return time.Time{}, false
}

// showAt shows what the cluster was at a time.
func (o *observer) showAt(ctx context.Context, past *view.Past, text string) error {
	at, ok := instantOf(text, o.now)
	if !ok {
		return misused(`--at 14:02, or --at "2026-11-22 14:02:05"`, "at: %q is not a time", text)
	}
	at = at.Truncate(time.Second).Add(time.Second - time.Millisecond) // what happened in that second had happened: rota log list prints no more
	m, err := past.AsOf(ctx, at.UnixMilli())
	if err != nil {
		return o.notHeld(err)
	}
	if m.Index == m.Oldest.Index && m.AtMS == 0 && m.Index > 0 && at.Before(o.now) {
		return failed(o.hint("rota log list"),
			"store %s: the log does not go back to %s: its oldest entries follow index %d",
			o.name, at.Format(time.DateTime), m.Oldest.Index)
	}
	return show(o, m, o.printMoment)
}
