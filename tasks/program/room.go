package program

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// variable is the name of the mark in the environment of programs.
const variable = "ROTA_PROGRAM"

// ErrUnsupported reports that programs can be run only on Linux.
var ErrUnsupported = errors.New("programs can only be run on Linux")

// Options of a [Room]. The zero value works.
type Options struct {
	// NoGroup disables control groups.
	NoGroup bool
	// Adopt makes this process the parent of orphans of its programs, if there are no control groups. Then the end of a
	// program needs no scan of all processes of the machine. Use it in a process that starts no programs in another
	// way, because it also reaps their orphans.
	Adopt bool
	// Logger gets the reason why there are no control groups; default: discard.
	Logger *slog.Logger
}

// Place allows another process to end the programs of a room.
type Place struct {
	Mark  string `json:"mark"`            // prefix of the mark of each of its programs
	Group string `json:"group,omitempty"` // directory of the control group of all of them; "" for none
}

// Command is a program with its arguments and environment.
type Command struct {
	Argv           []string // the program's absolute path and its arguments
	Env            []string // all of its environment except the mark
	Dir            string
	Grace          time.Duration // from SIGTERM to SIGKILL when the context ends
	Stdout, Stderr io.Writer
}

// End is how a program ended: its code, or -1 and the signal.
type End struct {
	Code   int
	Signal string
}

// Room runs the programs of one process. Its methods may be called from any goroutine.
type Room struct {
	place  Place
	group  *group // nil for none
	adopts bool
	count  atomic.Uint64

	mu      sync.Mutex   // a program is started and noted, or orphans are reaped
	started map[int]bool // processes that somebody here waits for
}

// NewRoom returns a room. It kills what rooms of dead processes have left in the same control group.
func NewRoom(o Options) *Room {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	r := &Room{place: Place{Mark: rand.Text()[:16]}, started: make(map[int]bool)}
	r.settle(o)
	return r
}

// Place identifies its programs.
func (r *Room) Place() Place { return r.place }

// Run runs a program until it exits. When ctx ends, its process group gets SIGTERM and, after the grace, SIGKILL. Then
// all remaining descendants are killed, and Run returns when none is left. An error means that the program could not be
// started or waited for.
func (r *Room) Run(ctx context.Context, c Command) (End, error) { return r.run(ctx, c) }

// Close removes the control group. Programs must have ended.
func (r *Room) Close() error { return r.close() }

// mark is that of the next program.
func (r *Room) mark() string { return r.place.Mark + "." + strconv.FormatUint(r.count.Add(1), 10) }

// marked reports whether an environment, variables with a NUL after each, has a mark: the whole one, or that of any
// program of a room.
func marked(environ, mark string) bool {
	for v := range strings.SplitSeq(environ, "\x00") {
		value, ok := strings.CutPrefix(v, variable+"=")
		if ok && (value == mark || strings.HasPrefix(value, mark+".")) {
			return true
		}
	}
	return false
}
